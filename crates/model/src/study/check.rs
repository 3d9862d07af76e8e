//! Which studies contradict themselves or ask for the impossible?

use super::{NamedArm, Parameter, Study};
use crate::scenario::check::{Fault, list_of_names, plain_name, require};
use crate::scenario::key::KeyPath;
use crate::scenario::parse::one_of;

/// Every check of a study on its own.
pub(super) fn study(study: &Study) -> Result<(), Fault> {
    let Study {
        name,
        summary,
        world: _,
        scenarios,
        transports,
        policies,
        arms,
        seeds,
        baseline: _, // known once there are arms
        primary: _,  // see `names`
        folders: _,
        order_seed: _,
        a_a,
        paper: _, // whoever reads it says what is wrong with it
        parameters,
    } = study;
    plain_name(name, &KeyPath::top("name"))?;
    require(
        !summary.trim().is_empty() && !summary.contains('\n'),
        &KeyPath::top("summary"),
        "one line that says what the study shows was expected",
    )?;
    list_of_names(scenarios, &KeyPath::top("scenarios"))?;
    for (key, list) in [("transports", transports), ("policies", policies)] {
        if let Some(list) = list {
            list_of_names(list, &KeyPath::top(key))?;
        }
    }
    for (key, list) in [("transports", transports), ("policies", policies)] {
        require(
            arms.is_empty() || list.is_none(),
            &KeyPath::top(key),
            "the study names its arms, each with a transport and a policy of its own; leave this out",
        )?;
    }
    named_arms(arms, parameters)?;
    if let Some(wrong) = seeds.fault(1 + u64::from(*a_a)) {
        return crate::scenario::check::fault(&KeyPath::top("seeds"), wrong);
    }
    for (i, parameter) in parameters.iter().enumerate() {
        let Parameter { name, key, values } = parameter;
        let at = KeyPath::top("parameter").index(i);
        plain_name(name, &at.key("name"))?;
        require(
            parameters[..i].iter().all(|other| other.name != *name),
            &at.key("name"),
            format!("another parameter is called `{name}`; each needs a name of its own"),
        )?;
        require(
            parameters[..i].iter().all(|other| other.key != *key),
            &at.key("key"),
            format!("another parameter sets `{key}` already"),
        )?;
        let words: Vec<String> = values.iter().map(|v| v.as_str().to_owned()).collect();
        list_of_names(&words, &at.key("values"))?;
    }
    Ok(())
}

/// Arms that can be told apart, and that leave the parameters alone.
fn named_arms(arms: &[NamedArm], parameters: &[Parameter]) -> Result<(), Fault> {
    for (i, arm) in arms.iter().enumerate() {
        let NamedArm {
            name,
            transport: _, // see `names`
            policy: _,
            world: _,
            set,
        } = arm;
        let at = KeyPath::top("arm").index(i);
        plain_name(name, &at.key("name"))?;
        require(
            arms[..i].iter().all(|other| other.name != *name),
            &at.key("name"),
            format!("another arm is called `{name}`; each needs a name of its own"),
        )?;
        for key in set.keys() {
            require(
                parameters.iter().all(|parameter| parameter.key != *key),
                &at.key("set"),
                format!("`{key}` is varied by a parameter; an arm can't set it"),
            )?;
        }
    }
    Ok(())
}

/// The names of transports, policies and metrics against the lists of those that exist.
pub(super) fn names(
    study: &Study,
    transports: &[&str],
    policies: &[&str],
    metrics: &[&str],
) -> Result<(), Fault> {
    let lists = [
        ("transports", "transport", &study.transports, transports),
        ("policies", "policy", &study.policies, policies),
    ];
    for (key, kind, used, known) in lists {
        for (i, name) in used.iter().flatten().enumerate() {
            require(
                known.contains(&name.as_str()),
                &KeyPath::top(key).index(i),
                format!("unknown {kind} `{name}`; {}", one_of(name, known)),
            )?;
        }
    }
    for (i, arm) in study.arms.iter().enumerate() {
        let at = KeyPath::top("arm").index(i);
        let policy = arm.policy.as_ref();
        let used = [
            ("transport", Some(&arm.transport), transports),
            ("policy", policy, policies),
        ];
        for (kind, name, known) in used {
            let Some(name) = name else { continue };
            require(
                known.contains(&name.as_str()),
                &at.key(kind),
                format!("unknown {kind} `{name}`; {}", one_of(name, known)),
            )?;
        }
    }
    let primary = &study.primary;
    require(
        metrics.contains(&primary.as_str()),
        &KeyPath::top("primary"),
        format!(
            "no metric that is a number is called `{primary}`; {}",
            one_of(primary, metrics)
        ),
    )
}
