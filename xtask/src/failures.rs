//! What of a test run's output tells which tests failed, and how?

/// Collects what failed while the lines of `cargo test` come by.
#[derive(Default)]
pub struct Failures {
    /// The last line that named a test program.
    program: String,
    part: Part,
    lines: Vec<String>,
}

#[derive(Default, PartialEq, Eq)]
enum Part {
    /// Nothing of interest.
    #[default]
    Between,
    /// libtest's list of failures with what they printed, up to its result.
    List,
    /// A failure of a test program of our own, which tells it with the test: up to the next test.
    Told,
    /// cargo's own error with its list of test programs.
    Error,
}

impl Failures {
    /// Takes the next line.
    pub fn see(&mut self, line: &str) {
        let words = line.trim_start();
        if words.starts_with("Running ") || words.starts_with("Doc-tests ") {
            words.clone_into(&mut self.program);
            self.part = Part::Between;
            return;
        }
        let is_test = line.starts_with("test ");
        let is_result = line.starts_with("test result:");
        match self.part {
            Part::Told if line == "failures:" => self.part = Part::List,
            Part::Told if is_test || line.contains(" passed, ") => self.part = Part::Between,
            Part::Error if !line.starts_with(' ') => self.part = Part::Between,
            _ => {}
        }
        if self.part == Part::Between {
            self.part = match line {
                "failures:" => Part::List,
                _ if is_test && line.contains(" ... FAILED") => Part::Told,
                _ if line.starts_with("error: ") => Part::Error,
                _ => return,
            };
            if self.part != Part::Error {
                self.lines.push(std::mem::take(&mut self.program));
            }
        }
        self.lines.push(line.to_owned());
        if self.part == Part::List && is_result {
            self.part = Part::Between;
        }
    }

    /// What failed, by test programs; empty when nothing did.
    pub fn told(&self) -> String {
        let lines = self.lines.iter().filter(|line| !line.is_empty());
        lines.map(|line| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_both_kinds_are_collected_and_nothing_else() {
        let output = "\
     Running unittests src/lib.rs (target/debug/deps/first-1)

running 2 tests
test good ... ok
test bad ... FAILED

failures:

---- bad stdout ----
thread 'bad' panicked at src/lib.rs:1:1:
left: 1

failures:
    bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/own/main.rs (target/debug/deps/own-1)
test one ... ok (0.1 s)
test two ... FAILED (0.2 s): it did not come
ours: nothing
test three ... ok (0.1 s)
2 passed, 0 skipped, 1 failed
     Running tests/good.rs (target/debug/deps/good-1)
test failures_of_others ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
error: 2 targets failed:
    `-p first --lib`
    `-p second --test own`
";
        let mut failures = Failures::default();
        output.lines().for_each(|line| failures.see(line));
        let expected = "\
Running unittests src/lib.rs (target/debug/deps/first-1)
test bad ... FAILED
failures:
---- bad stdout ----
thread 'bad' panicked at src/lib.rs:1:1:
left: 1
failures:
    bad
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
Running tests/own/main.rs (target/debug/deps/own-1)
test two ... FAILED (0.2 s): it did not come
ours: nothing
error: 2 targets failed:
    `-p first --lib`
    `-p second --test own`
";
        assert_eq!(failures.told(), expected);
    }

    #[test]
    fn nothing_is_told_when_nothing_failed() {
        let mut failures = Failures::default();
        for line in ["test good ... ok", "", "3 passed, 0 skipped, 0 failed"] {
            failures.see(line);
        }
        assert_eq!(failures.told(), "");
    }
}
