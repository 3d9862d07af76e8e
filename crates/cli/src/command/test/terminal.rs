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
