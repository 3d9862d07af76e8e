//! Migrations are embedded at compile time: a new file among them is a reason to compile again.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
