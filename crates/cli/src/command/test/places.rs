//! Where does the client keep what outlives a test: the queue, the device's key, what was agreed to?

use crate::failure::Failure;
use platform::client::{Queue, write_durably};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The client's folders (XDG Base Directory Specification).
pub struct Places {
    data: PathBuf,
    config: PathBuf,
}

impl Places {
    /// The user's.
    ///
    /// # Errors
    /// When the environment says neither where they are nor where the user's home is.
    pub fn find() -> Result<Places, Failure> {
        Ok(Places {
            data: folder("XDG_DATA_HOME", ".local/share")?,
            config: folder("XDG_CONFIG_HOME", ".config")?,
        })
    }

    /// Runs that wait to be uploaded, and what deletes those that were.
    pub fn queue(&self) -> Result<Queue, Failure> {
        Queue::open(&self.data.join("queue")).map_err(Failure::failed)
    }

    /// Runs under way that are to be uploaded.
    pub fn under_way(&self) -> PathBuf {
        self.data.join("under-way")
    }

    /// What was agreed to, by collector.
    pub fn consent(&self) -> PathBuf {
        self.config.join("consent.json")
    }

    /// The key that names of networks are hashed with: made once, never leaves the machine.
    pub fn device_key(&self) -> Result<[u8; 32], Failure> {
        let file = self.data.join("device.key");
        match fs::read(&file) {
            Ok(key) => key.try_into().map_err(|_| {
                Failure::failed(format!(
                    "{}: 32 bytes were expected; remove the file for a new key (networks then count as \
                     others than before)",
                    file.display()
                ))
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let key: [u8; 32] = platform::token::unhex(&platform::token::random_hex::<32>())
                    .ok_or_else(|| Failure::failed("no randomness"))?;
                save(&file, &key)?;
                Ok(key)
            }
            Err(error) => Err(Failure::failed(format!("{}: {error}", file.display()))),
        }
    }
}

/// Writes a file for its owner alone, and its folder if need be.
pub fn save(file: &Path, content: &[u8]) -> Result<(), Failure> {
    let written = || {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
        write_durably(folder, &name.to_string_lossy(), &[content])
    };
    written().map_err(|e| Failure::failed(format!("{}: cannot be written: {e}", file.display())))
}

fn folder(variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    // A relative path is invalid, as the specification says.
    let own = set(variable).filter(|path| path.is_absolute());
    let base = own.or_else(|| Some(set("HOME")?.join(below_home)));
    let base = base.filter(|path| path.is_absolute());
    base.map(|base| base.join("walkabout")).ok_or_else(|| {
        Failure::usage(format!(
            "neither {variable} nor HOME says where results are kept until they are uploaded: set one of \
             them"
        ))
    })
}
