//! Takes TCP, Multipath TCP, QUIC and Multipath QUIC for the same walk: the command line.

mod command;
mod failure;
mod interrupt;
mod logging;

use clap::Parser;
use failure::{Failure, Output};
use std::process::ExitCode;

/// Takes TCP, Multipath TCP, QUIC and Multipath QUIC for the same walk - away from the Wi-Fi,
/// onto cellular and back - and shows who stalled, for how long, why, and what it cost.
#[derive(Parser)]
#[command(version, after_help = failure::EXIT_CODES)]
struct Arguments {
    /// Print the result as JSON on standard output; errors stay valid JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    end_with_the_reader();
    say_when_output_fails();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    if arguments.command.has_connections() {
        outlive_the_peer();
    }
    let output = match (arguments.json, arguments.command.goes_on()) {
        (false, _) => Output::Prose,
        (true, false) => Output::Document,
        (true, true) => Output::Lines,
    };
    match arguments.command.run(arguments.json) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(output),
    }
}

/// `walkabout list policies | head` ends quietly when `head` has seen enough, as other tools do.
fn end_with_the_reader() {
    // SAFETY: no other thread runs yet, and the default action needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// A peer that is gone is an error of the one connection (`EPIPE`), and no end of the program: not every
/// write to a socket asks for that itself (`MSG_NOSIGNAL`; `writev` cannot).
fn outlive_the_peer() {
    // SAFETY: no other thread runs yet, and ignoring needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Results that cannot be written (a full disk behind standard output) are a failure with a line, and
/// no bug with a backtrace.
fn say_when_output_fails() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let words = panic.payload().downcast_ref::<String>();
        match words.filter(|words| words.starts_with("failed printing to")) {
            Some(words) => {
                eprintln!("walkabout: {words}");
                std::process::exit(failure::FAILED.into());
            }
            None => usual(panic),
        }
    }));
}

/// clap's message; as JSON when `--json` is among the arguments it could not parse.
fn usage(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|a| a == "--json");
    if json && error.use_stderr() {
        return Failure::usage(error.to_string().trim_end()).report(Output::Document);
    }
    let _ = error.print();
    ExitCode::from(if error.use_stderr() {
        failure::USAGE
    } else {
        0
    })
}
