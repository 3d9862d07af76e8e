//! TEMPORARY
#[derive(serde::Serialize)]
pub struct ReportData;
impl ReportData { pub fn of(_: &[crate::folder::RunFolder]) -> Self { ReportData } }
pub fn render(_: &ReportData) -> Result<String, String> { Ok(String::new()) }
