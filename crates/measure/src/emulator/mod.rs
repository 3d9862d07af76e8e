//! How real packets cross emulated links: namespaces, devices, and the thread that moves packets
//! from one to the other when the link models say so.

mod attachment;
pub mod device;
pub mod failure;
pub mod forward;
pub mod ground;
mod lateness;
pub mod namespace;
mod stop;
pub mod sysctl;
mod wait;

pub use attachment::Attachment;
pub use device::{Device, DeviceKind};
pub use failure::{
    FailureDriver, FailureError, PathChangeReceiver, PathChangeSender, path_changes,
};
pub use forward::{Emulator, EmulatorError, Settings};
pub use ground::{Devices, Ground, GroundError};
pub use namespace::{NamespaceError, NetNs, enter_user_namespace};
pub use stop::StopFlag;
