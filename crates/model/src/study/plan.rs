//! Which runs does a study consist of, and in which order are they carried out?

use super::{Document, NamedArm, Parameter, ParameterValue, Study};
use crate::random::Seed;
use crate::scenario::{self, Names, Scenario, ScenarioError, Setting};
use rand::seq::SliceRandom;
use std::collections::BTreeMap;

/// More runs than this are a slip of the keyboard.
const MOST_RUNS: u64 = 1_000_000;

/// The policy of a transport that uses one path.
const SINGLE: &str = "single";

/// A transport, as far as a plan asks.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'n> {
    /// Its name.
    pub name: &'n str,
    /// Whether it uses several paths, and so runs under each policy.
    pub multipath: bool,
}

/// A scenario that a study names.
#[derive(Clone, Debug)]
pub struct ScenarioText {
    /// Its TOML.
    pub text: String,
    /// The file's name in messages.
    pub source: String,
    /// What `walkabout run` calls it.
    pub command: String,
}

/// A scenario under one setting of the parameters.
#[derive(Clone, Debug)]
pub struct Case {
    /// The scenario with the parameters' values in it.
    pub scenario: Scenario,
    /// Its place in the study's list of scenarios.
    pub source: usize,
    /// The parameters as settings of the scenario.
    pub settings: Vec<Setting>,
    /// Each parameter's name and its value as written, in the study's order.
    pub parameters: Vec<(String, String)>,
}

impl Case {
    /// How it is called in tables: `blackhole`, `blackhole cellular-delay=60 ms`.
    pub fn label(&self) -> String {
        let parameters = self.parameters.iter();
        let parameters: Vec<String> = parameters
            .map(|(n, value)| format!("{n}={value}"))
            .collect();
        match &parameters[..] {
            [] => self.scenario.name.clone(),
            _ => format!("{} {}", self.scenario.name, parameters.join(", ")),
        }
    }
}

/// A transport under a policy, perhaps with settings of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The transport's name.
    pub transport: String,
    /// The policy's name; `single` for transports without one.
    pub policy: String,
    /// How it is called in tables: `quic`, `mpquic-backup`, or the name that the study gives it.
    pub label: String,
    /// What it sets in every scenario.
    pub settings: Vec<Setting>,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its place among the cases.
    pub case: usize,
    /// Its place among the arms.
    pub arm: usize,
    /// 0, or 1 for the second copy in an A/A study.
    pub replica: u64,
    /// Its seed.
    pub seed: u64,
}

/// The runs of a study.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Scenarios under parameters, in the study's order, the last parameter varying first.
    pub cases: Vec<Case>,
    /// Transports under policies, in the study's order.
    pub arms: Vec<Arm>,
    /// The scenario as an arm sees it, by case and arm, where the arm sets something in it.
    variants: BTreeMap<(usize, usize), Scenario>,
    /// The arm that the others are compared with.
    pub baseline: usize,
    /// Every run, in the order of tables: by case, seed, arm and replica.
    pub runs: Vec<Planned>,
    /// The places in `runs`, in the order in which they are to be carried out.
    pub order: Vec<usize>,
}

impl Plan {
    /// The plan of the study in `document`, whose scenarios are `texts` in its order, over the
    /// transports, policies and schedulers there are.
    ///
    /// A block is a case and a seed, and holds every arm once (twice in an A/A study). In each
    /// round every case has one block, in random order; which seed it takes in which round is
    /// random too, and so is the order of the runs in a block.
    ///
    /// # Errors
    /// The first thing wrong in a scenario or a parameter, or a baseline that does not take part.
    pub fn of(
        document: &Document,
        texts: &[ScenarioText],
        stacks: &[Stack<'_>],
        policies: &[&str],
        schedulers: &[&str],
    ) -> Result<Plan, ScenarioError> {
        let study = document.study();
        let transports: Vec<&str> = stacks.iter().map(|stack| stack.name).collect();
        let names = Names {
            transports: &transports,
            policies,
            schedulers,
        };
        let cases = cases(document, texts, &names)?;
        let mut arms: Vec<Arm> = Vec::new();
        let mut takes_part: Vec<Vec<usize>> = Vec::new();
        for case in &cases {
            let mut own = Vec::new();
            for arm in arms_of(document, &case.scenario, stacks)? {
                let place = arms.iter().position(|a| *a == arm).unwrap_or(arms.len());
                if place == arms.len() {
                    arms.push(arm);
                }
                own.push(place);
            }
            own.sort_unstable();
            takes_part.push(own);
        }
        let variants = variants(texts, &cases, &arms, &takes_part, &names)?;
        let baseline = baseline(document, &cases, &arms, &takes_part)?;
        let runs = runs(document, &takes_part)?;
        Ok(Plan {
            order: order(study, &runs, cases.len()),
            cases,
            arms,
            variants,
            baseline,
            runs,
        })
    }

    /// The scenario of a case as an arm runs it.
    pub fn scenario(&self, case: usize, arm: usize) -> &Scenario {
        let own = self.variants.get(&(case, arm));
        own.unwrap_or(&self.cases[case].scenario)
    }

    /// How many blocks there are.
    pub fn blocks(&self, study: &Study) -> u64 {
        self.cases.len() as u64 * study.seeds.count
    }
}

/// Every scenario under every combination of the parameters' values.
fn cases(
    document: &Document,
    texts: &[ScenarioText],
    names: &Names<'_>,
) -> Result<Vec<Case>, ScenarioError> {
    let combinations = combinations(&document.study().parameters);
    let mut cases: Vec<Case> = Vec::new();
    for (
        source,
        ScenarioText {
            text, source: file, ..
        },
    ) in texts.iter().enumerate()
    {
        let plain = scenario::Document::parse(text, file)?;
        plain.check_names(names)?;
        let name = &plain.scenario().name;
        if cases.iter().any(|case| case.scenario.name == *name) {
            let message = format!("another scenario of the study is called `{name}` already");
            return Err(document.error("scenarios", Some(source), message));
        }
        for values in &combinations {
            let settings = values.iter().map(|(p, v)| document.setting(&p.key, v));
            let settings: Vec<Setting> = settings.collect();
            let named = values
                .iter()
                .map(|(p, v)| (p.name.clone(), v.as_str().to_owned()));
            let changed = scenario::Document::parse_with(text, file, &settings)?;
            changed.check_names(names)?;
            cases.push(Case {
                scenario: changed.into_scenario(),
                source,
                settings,
                parameters: named.collect(),
            });
        }
    }
    Ok(cases)
}

type Combination<'s> = Vec<(&'s Parameter, &'s ParameterValue)>;

/// The product of all parameters' values, the last parameter varying first.
fn combinations(parameters: &[Parameter]) -> Vec<Combination<'_>> {
    let mut combinations: Vec<Combination<'_>> = vec![Vec::new()];
    for parameter in parameters {
        let mut longer = Vec::new();
        for start in &combinations {
            for value in &parameter.values {
                longer.push([&start[..], &[(parameter, value)]].concat());
            }
        }
        combinations = longer;
    }
    combinations
}

/// Each case's scenario under the settings of each arm that has some.
fn variants(
    texts: &[ScenarioText],
    cases: &[Case],
    arms: &[Arm],
    takes_part: &[Vec<usize>],
    names: &Names<'_>,
) -> Result<BTreeMap<(usize, usize), Scenario>, ScenarioError> {
    let mut variants = BTreeMap::new();
    for (place, (case, own)) in cases.iter().zip(takes_part).enumerate() {
        let ScenarioText { text, source, .. } = &texts[case.source];
        for &arm in own {
            let of_arm = &arms[arm].settings;
            if of_arm.is_empty() {
                continue;
            }
            let settings = [&case.settings[..], of_arm].concat();
            let changed = scenario::Document::parse_with(text, source, &settings)?;
            changed.check_names(names)?;
            variants.insert((place, arm), changed.into_scenario());
        }
    }
    Ok(variants)
}

/// The arms of one scenario: those that the study names, or its transports under its policies.
fn arms_of(
    document: &Document,
    scenario: &Scenario,
    stacks: &[Stack<'_>],
) -> Result<Vec<Arm>, ScenarioError> {
    let study = document.study();
    if !study.arms.is_empty() {
        return named_arms(document, stacks);
    }
    let transports = study.transports.as_ref().unwrap_or(&scenario.transports);
    let policies = study.policies.as_ref().unwrap_or(&scenario.policies);
    let mut arms = Vec::new();
    for transport in transports {
        let multipath = stacks.iter().any(|s| s.name == transport && s.multipath);
        let arm = |policy: &str, label: String| Arm {
            transport: transport.clone(),
            policy: policy.to_owned(),
            label,
            settings: Vec::new(),
        };
        match multipath {
            true => arms.extend(policies.iter().map(|p| arm(p, format!("{transport}-{p}")))),
            false => arms.push(arm(SINGLE, transport.clone())),
        }
    }
    Ok(arms)
}

/// The arms that the study names, as far as they take part in its world.
fn named_arms(document: &Document, stacks: &[Stack<'_>]) -> Result<Vec<Arm>, ScenarioError> {
    let study = document.study();
    let mut arms = Vec::new();
    for (i, arm) in study.arms.iter().enumerate() {
        let NamedArm {
            name,
            transport,
            policy,
            world,
            set,
        } = arm;
        let multipath = stacks.iter().any(|s| s.name == transport && s.multipath);
        let policy = match (multipath, policy) {
            (true, Some(policy)) => policy.as_str(),
            (false, None) => SINGLE,
            (true, None) => {
                let message = format!("`{transport}` uses several paths; `policy` was expected");
                return Err(document.arm_error(i, "transport", &message));
            }
            (false, Some(_)) => {
                let message = format!("`{transport}` uses one path; leave `policy` out");
                return Err(document.arm_error(i, "policy", &message));
            }
        };
        if world.is_some_and(|world| world != study.world) {
            continue;
        }
        let settings = set.iter().map(|(key, value)| document.setting(key, value));
        arms.push(Arm {
            transport: transport.clone(),
            policy: policy.to_owned(),
            label: name.clone(),
            settings: settings.collect(),
        });
    }
    if arms.is_empty() {
        let message = format!(
            "no arm takes part in the {} world; take another world",
            study.world.name()
        );
        return Err(document.arm_error(0, "world", &message));
    }
    Ok(arms)
}

/// The place of the baseline among the arms.
fn baseline(
    document: &Document,
    cases: &[Case],
    arms: &[Arm],
    takes_part: &[Vec<usize>],
) -> Result<usize, ScenarioError> {
    let labels: Vec<&str> = arms.iter().map(|arm| arm.label.as_str()).collect();
    let place = match &document.study().baseline {
        None => 0,
        Some(name) => labels.iter().position(|l| l == name).ok_or_else(|| {
            let known = scenario::parse::one_of(name, &labels);
            let message = format!("`{name}` takes no part in this study; {known}");
            document.error("baseline", None, message)
        })?,
    };
    let without = takes_part.iter().position(|own| !own.contains(&place));
    match without {
        None => Ok(place),
        Some(case) => Err(document.error(
            "baseline",
            None,
            format!(
                "`{}` takes no part in `{}`, so nothing can be compared with it there; name \
                 `transports` and `policies` in the study, or another `baseline`",
                labels[place],
                cases[case].label()
            ),
        )),
    }
}

fn runs(document: &Document, takes_part: &[Vec<usize>]) -> Result<Vec<Planned>, ScenarioError> {
    let Study { seeds, a_a, .. } = document.study();
    let replicas = 1 + u64::from(*a_a);
    let in_a_round: u64 = takes_part
        .iter()
        .map(|own| own.len() as u64 * replicas)
        .sum();
    let all = in_a_round.checked_mul(seeds.count);
    if all.is_none_or(|all| all > MOST_RUNS) {
        let message = format!(
            "{in_a_round} runs for each of {} seeds are more than {MOST_RUNS}; take fewer",
            seeds.count
        );
        return Err(document.error("seeds", None, message));
    }
    let mut runs = Vec::new();
    for (case, own) in takes_part.iter().enumerate() {
        for n in 0..seeds.count {
            for &arm in own {
                for replica in 0..replicas {
                    runs.push(Planned {
                        case,
                        arm,
                        replica,
                        seed: seeds.seed(n, replica),
                    });
                }
            }
        }
    }
    Ok(runs)
}

/// The places of `runs`, shuffled in blocks.
fn order(study: &Study, runs: &[Planned], cases: usize) -> Vec<usize> {
    let mut stream = Seed(study.order_seed).stream("study.order");
    // The runs of a block stand together, and its blocks too in a case.
    let mut blocks: Vec<Vec<Vec<usize>>> = vec![Vec::new(); cases];
    for (place, run) in runs.iter().enumerate() {
        let own = &mut blocks[run.case];
        let n = (run.seed - study.seeds.from) % study.seeds.count;
        if own.len() as u64 <= n {
            own.push(Vec::new());
        }
        if let Some(block) = own.last_mut() {
            block.push(place);
        }
    }
    for block in blocks.iter_mut().flatten() {
        block.shuffle(&mut stream);
    }
    for own in &mut blocks {
        own.shuffle(&mut stream);
    }
    let mut order = Vec::with_capacity(runs.len());
    for _ in 0..study.seeds.count {
        let mut round: Vec<Vec<usize>> = blocks.iter_mut().filter_map(Vec::pop).collect();
        round.shuffle(&mut stream);
        order.extend(round.into_iter().flatten());
    }
    order
}
