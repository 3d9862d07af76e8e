//! How does the terminal become a screen for the view, and itself again whatever happens?
//!
//! The keyboard keeps its signals (Ctrl-C asks to stop, as without a view); only its echo is off. The
//! terminal is given back when the view is dropped, when the program panics, and when a signal ends it.

use super::board::Board;
use super::view::{self, Look};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Alternate screen, hidden cursor (xterm).
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// Attributes off, visible cursor, the screen before.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

static ACTIVE: AtomicBool = AtomicBool::new(false);
/// The terminal's settings from before; written once, before [`ACTIVE`] is first set.
static mut BEFORE: std::mem::MaybeUninit<libc::termios> = std::mem::MaybeUninit::uninit();
static HAS_BEFORE: AtomicBool = AtomicBool::new(false);

/// The terminal as a screen.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    look: Look,
}

impl Screen {
    /// Takes standard output, which is a terminal.
    pub fn enter(look: Look) -> io::Result<Screen> {
        restore_on_panic_and_signals();
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        quiet_keyboard();
        write(ENTER);
        ACTIVE.store(true, Ordering::SeqCst);
        Ok(Screen { terminal, look })
    }

    /// Shows the board.
    pub fn draw(&mut self, board: &Board) -> io::Result<()> {
        let look = self.look;
        self.terminal
            .draw(|frame| view::draw(frame, board, look))
            .map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Safe to call in a signal handler, and more than once.
fn restore() {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    write(LEAVE);
    if HAS_BEFORE.load(Ordering::SeqCst) {
        // SAFETY: BEFORE was written before HAS_BEFORE was set, and is not written again.
        unsafe {
            libc::tcsetattr(
                libc::STDIN_FILENO,
                libc::TCSANOW,
                (&raw const BEFORE).cast(),
            )
        };
    }
}

/// Writes past the buffers of `std`, which a signal handler must not touch.
fn write(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the pointer and the length are those of a slice.
        let written =
            unsafe { libc::write(libc::STDOUT_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => bytes = &bytes[written..],
            _ => return,
        }
    }
}

/// Keys are not echoed and need no line's end; Ctrl-C stays a signal.
fn quiet_keyboard() {
    if HAS_BEFORE.load(Ordering::SeqCst) {
        return;
    }
    // SAFETY: the structure is only used when tcgetattr filled it in; only this thread writes BEFORE,
    // and nobody reads it before HAS_BEFORE is set.
    unsafe {
        let mut settings = std::mem::zeroed::<libc::termios>();
        if libc::tcgetattr(libc::STDIN_FILENO, &mut settings) != 0 {
            return;
        }
        (&raw mut BEFORE).cast::<libc::termios>().write(settings);
        HAS_BEFORE.store(true, Ordering::SeqCst);
        settings.c_lflag &= !(libc::ECHO | libc::ICANON);
        libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &settings);
    }
}

/// The first SIGINT or SIGTERM asks the test to stop, and the view goes with it; what ends the process at
/// once gives the terminal back first.
fn restore_on_panic_and_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            usual(panic);
        }));
        for signal in [libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: the action is fully initialised, and the handler only calls what is safe in one.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(libc::c_int) = restore_and_die;
                action.sa_sigaction = handler as libc::sighandler_t;
                action.sa_flags = libc::SA_RESETHAND;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
        crate::interrupt::before_the_second(restore_and_die);
    });
}

extern "C" fn restore_and_die(signal: libc::c_int) {
    restore();
    // SAFETY: both calls are safe in a signal handler; the signal is delivered when this one returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitStatus};

    const END: &str = "WALKABOUT_TEST_SCREEN";

    /// Not a test of its own: the process whose terminal [`given_back`] looks at. It shows a view and
    /// ends as it is told.
    #[test]
    fn the_process_with_a_screen() {
        let Ok(end) = std::env::var(END) else {
            return;
        };
        let stop = crate::interrupt::flag();
        let mut screen = Screen::enter(Look { colour: false }).expect("a terminal");
        let board = Board {
            heading: "ready".into(),
            ..Board::default()
        };
        screen.draw(&board).expect("drawn");
        match end.as_str() {
            "panic" => panic!("on purpose"),
            "return" => {}
            // As a test does that takes its time to stop.
            "slow" => loop {
                std::thread::park();
            },
            _ => {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            }
        }
    }

    /// A terminal: the side that a person sees, and the other.
    fn pty() -> (File, OwnedFd) {
        let (mut ours, mut theirs) = (-1, -1);
        let size = libc::winsize {
            ws_row: 20,
            ws_col: 60,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: both descriptors are written before the call succeeds, and are owned from then on.
        unsafe {
            let (name, settings) = (std::ptr::null_mut(), std::ptr::null());
            assert_eq!(
                libc::openpty(&mut ours, &mut theirs, name, settings, &size),
                0
            );
            (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
        }
    }

    fn settings(terminal: &OwnedFd) -> libc::tcflag_t {
        // SAFETY: the structure is only used when tcgetattr filled it in.
        unsafe {
            let mut settings = std::mem::zeroed::<libc::termios>();
            assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &mut settings), 0);
            settings.c_lflag
        }
    }

    /// Starts the process with a screen, and waits until it shows its view.
    fn start(end: &str, ours: &mut File, theirs: &OwnedFd, seen: &mut Vec<u8>) -> Child {
        let name = "command::test::terminal::tests::the_process_with_a_screen";
        let clone = || theirs.try_clone().expect("a descriptor");
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(END, end)
            .stdin(clone())
            .stdout(clone())
            .stderr(clone());
        // A session of its own, so that the test's own terminal plays no part.
        // SAFETY: setsid is safe between fork and exec.
        unsafe { command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into)) };
        let child = command.spawn().expect("it starts");
        // Words come apart, as blanks need no drawing.
        while !String::from_utf8_lossy(seen).contains("measured") {
            let mut buffer = [0; 4096];
            let read = read_soon(ours, &mut buffer);
            assert!(
                read > 0,
                "{end}: no view: {:?}",
                String::from_utf8_lossy(seen)
            );
            seen.extend_from_slice(&buffer[..read]);
        }
        child
    }

    /// What the terminal shows next; nothing when nobody holds it any more, or when nothing comes.
    fn read_soon(ours: &mut File, buffer: &mut [u8]) -> usize {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;
        let mut fds = [PollFd::new(ours.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::from(20_000u16)) {
            Ok(1) => ours.read(buffer).unwrap_or(0),
            _ => 0,
        }
    }

    /// What was on the terminal in the end, and how the process ended.
    fn given_back(end: &str, signals: &[libc::c_int]) -> ExitStatus {
        let (mut ours, theirs) = pty();
        let before = settings(&theirs);
        let mut seen = Vec::new();
        let mut child = start(end, &mut ours, &theirs, &mut seen);
        for signal in signals {
            // SAFETY: the child was not waited for, so the id is its own.
            unsafe { libc::kill(child.id() as libc::pid_t, *signal) };
            // The second is only the second when the first was handled.
            while signals.len() > 1 && is_pending(&child, *signal) {
                std::thread::yield_now();
            }
        }
        let status = child.wait().expect("it ends");
        assert_eq!(settings(&theirs), before, "{end} {signals:?}: the keyboard");
        drop(theirs);
        loop {
            let mut buffer = [0; 4096];
            match read_soon(&mut ours, &mut buffer) {
                0 => break,
                read => seen.extend_from_slice(&buffer[..read]),
            }
        }
        let text = String::from_utf8_lossy(&seen);
        let leave = String::from_utf8_lossy(LEAVE);
        assert_eq!(
            text.matches(&*leave).count(),
            1,
            "{end} {signals:?}: {text:?}"
        );
        status
    }

    /// Whether a signal has not been taken yet.
    fn is_pending(child: &Child, signal: libc::c_int) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
        let pending = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
        pending.is_some_and(|bits| bits & (1 << (signal - 1)) != 0)
    }

    #[test]
    fn the_terminal_is_given_back_whatever_happens() {
        assert!(given_back("return", &[]).success());
        assert_eq!(given_back("panic", &[]).code(), Some(101));
        for signal in [libc::SIGTERM, libc::SIGINT] {
            assert!(given_back("stop", &[signal]).success());
            let status = given_back("slow", &[signal, signal]);
            assert_eq!(status.signal(), Some(signal));
        }
        for signal in [libc::SIGHUP, libc::SIGQUIT] {
            assert_eq!(given_back("slow", &[signal]).signal(), Some(signal));
        }
    }
}
