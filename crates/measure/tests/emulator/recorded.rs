//! Is each packet recorded, with what the link made of it?

use crate::ground::{client_udp, scenario, server_udp, start};
use crate::{On, Outcome};
use model::manifest::Status;
use model::{Family, Manifest, Scenario, Seed, World};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use walkabout_measure::recording::Recorder;

pub fn every_packet_is_recorded(on: On) -> Outcome {
    let folder = std::env::temp_dir().join(format!("walkabout-test-{}", std::process::id()));
    let scenario = scenario(on.family, None);
    let manifest = manifest(&scenario);
    let names: Vec<_> = scenario.paths.iter().map(|p| p.name.clone()).collect();
    let recorder = Recorder::create(&folder, &manifest, &names)?;
    let (running, _) = start(&scenario, on.kind, Some(recorder.log()))?;
    let (client, server) = (
        client_udp(&running.ground, 1)?,
        server_udp(&running.ground)?,
    );
    for _ in 0..5 {
        client.send_to(b"there", server.local_addr()?)?;
        server.recv_from(&mut [0; 64])?;
    }
    // Sent, read by the emulator, and on its way at the end. The answer of the other path shows
    // that the emulator has read what was sent before.
    server.send_to(b"back", client.local_addr()?)?;
    let quick = client_udp(&running.ground, 0)?;
    quick.send_to(b"quick", server.local_addr()?)?;
    server.recv_from(&mut [0; 64])?;
    running.finish()?;
    recorder.finish(&manifest)?;
    let packets = fates(&folder.join("packets.parquet"))?;
    let of = |path: &str, direction: &str| -> Vec<Option<u64>> {
        let rows = packets.iter();
        let rows = rows.filter(|(p, d, _)| p == path && d == direction);
        rows.map(|(_, _, delay)| *delay).collect()
    };
    // 50 Mbit/s take 160 ns for a byte; the links' own times have no scheduler in them.
    let bytes = match on.family {
        Family::Ipv4 => 33,
        Family::Ipv6 => 53,
    };
    let cellular = Duration::from_millis(50).as_nanos() as u64 + 160 * bytes;
    let wifi = Duration::from_millis(20).as_nanos() as u64 + 160 * bytes;
    check!(
        of("cellular", "up") == vec![Some(cellular); 5],
        "{packets:?}"
    );
    check!(of("wifi", "up") == vec![Some(wifi)], "{packets:?}");
    // Neither delivered nor dropped.
    check!(of("cellular", "down") == vec![None], "{packets:?}");
    check!(packets.len() == 7, "{packets:?}");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A packet's path, direction and delay in the link (if it was delivered).
type Packet = (String, String, Option<u64>);

/// The packets of a table, delays in nanoseconds.
fn fates(table: &Path) -> Result<Vec<Packet>, Box<dyn Error>> {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, RecordBatch};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(table)?)?.build()?;
    let mut fates = Vec::new();
    for batch in reader {
        let batch: RecordBatch = batch?;
        let column = |name: &str| batch.column_by_name(name).ok_or(format!("no {name}"));
        let text = |name: &str, row: usize| -> Result<String, Box<dyn Error>> {
            Ok(column(name)?.as_string::<i32>().value(row).to_owned())
        };
        for row in 0..batch.num_rows() {
            let number = |name: &str| -> Result<Option<u64>, Box<dyn Error>> {
                let values = column(name)?.as_primitive::<arrow_array::types::UInt64Type>();
                Ok(values.is_valid(row).then(|| values.value(row)))
            };
            let delay = match (number("enqueued_ns")?, number("delivered_ns")?) {
                (Some(enqueued), Some(delivered)) => Some(delivered - enqueued),
                _ => None,
            };
            fates.push((text("path", row)?, text("direction", row)?, delay));
        }
    }
    Ok(fates)
}

fn manifest(scenario: &Scenario) -> Manifest {
    Manifest {
        status: Status::Complete,
        ..Manifest::new(World::Emulated, scenario, "", "", Seed(1))
    }
}
