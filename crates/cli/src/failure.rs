//! How a command fails: what is wrong, where, what to do, and the exit code.

use serde::Serialize;
use std::process::ExitCode;

/// Failed.
pub const FAILED: u8 = 1;
/// Wrong arguments or a wrong scenario.
pub const USAGE: u8 = 2;
/// Not possible on this machine.
pub const IMPOSSIBLE: u8 = 127;

/// The documented exit codes, for `--help`.
pub const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage or scenario, \
     127 not possible on this machine (walkabout doctor says why)";

/// A command's failure.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// What is wrong, where, and what to do.
    pub message: String,
    /// The exit code.
    pub exit_code: u8,
    /// The parts of the message, where the mistake is in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<serde_json::Value>,
    /// What was achieved all the same, printed under `--json` together with the error: one
    /// document, whatever happens.
    #[serde(skip)]
    pub result: Option<Box<serde_json::Value>>,
}

impl Failure {
    /// Something did not work.
    pub fn failed(message: impl ToString) -> Failure {
        Failure {
            message: message.to_string(),
            exit_code: FAILED,
            at: None,
            result: None,
        }
    }

    /// The user asked for something that does not exist or makes no sense.
    pub fn usage(message: impl ToString) -> Failure {
        Failure {
            exit_code: USAGE,
            ..Failure::failed(message)
        }
    }

    /// This machine cannot do it.
    pub fn impossible(message: impl ToString) -> Failure {
        Failure {
            exit_code: IMPOSSIBLE,
            ..Failure::failed(message)
        }
    }

    /// Prints the failure.
    pub fn report(&self, output: Output) -> ExitCode {
        let document = || {
            let result = self.result.as_deref().cloned();
            let mut document = result.unwrap_or(serde_json::json!({}));
            document["error"] = serde_json::json!(self);
            document
        };
        match output {
            Output::Prose => eprintln!("walkabout: {}", self.message),
            Output::Document => println!("{:#}", document()),
            Output::Lines => println!("{}", document()),
        }
        ExitCode::from(self.exit_code)
    }
}

/// How a command's output is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// By people: data on standard output, a failure as a line on standard error.
    Prose,
    /// One JSON document on standard output, a failure in it.
    Document,
    /// A JSON object a line on standard output, a failure the last of them.
    Lines,
}

/// Ends a command that has a result: prints it under `--json`, by itself or with the failure.
pub fn conclude(
    result: Option<serde_json::Value>,
    failure: Option<Failure>,
) -> Result<(), Failure> {
    match (result, failure) {
        (result, Some(failure)) => Err(Failure {
            result: result.map(Box::new),
            ..failure
        }),
        (Some(result), None) => {
            println!("{result:#}");
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::failed(format!("{error:#}"))
    }
}
