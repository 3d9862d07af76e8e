//! How do many small writes become durable at once? Those that wait go into one transaction, each is
//! acknowledged after its commit: a disk does hundreds of commits a second, not thousands.

use super::database::Database;
use super::quota::{self, Spending};
use super::{NewRun, Put, StoreError, live, run};
use crate::api::LiveBatch;
use tokio::sync::{mpsc, oneshot};

/// Writes in one transaction. Each of 100 KB takes less than a millisecond: others wait for that long.
const AT_ONCE: usize = 64;

/// Writes that may wait; who comes later waits to be let in.
const WAITING: usize = 512;

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// A write, and whom to tell.
enum Job {
    Spend(Spending, Answer<bool>),
    Live(LiveBatch, u64, Answer<()>),
    Put(Box<NewRun>, Answer<Put>),
}

/// What a write came to.
enum Done {
    Spend(bool),
    Live,
    Put(Put),
}

/// The way to the task that writes.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// Starts the task. It ends when the last writer is dropped.
    pub(super) fn start(database: Database) -> Writer {
        let (jobs, waiting) = mpsc::channel(WAITING);
        tokio::spawn(write(database, waiting));
        Writer { jobs }
    }

    pub(super) async fn put(&self, run: NewRun) -> Result<Put, StoreError> {
        self.ask(|answer| Job::Put(Box::new(run), answer)).await
    }

    pub(super) async fn spend(&self, spending: Spending) -> Result<bool, StoreError> {
        self.ask(|answer| Job::Spend(spending, answer)).await
    }

    pub(super) async fn push_live(&self, batch: LiveBatch, now_s: u64) -> Result<(), StoreError> {
        self.ask(|answer| Job::Live(batch, now_s, answer)).await
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let closed = |_| StoreError::closed();
        self.jobs.send(job(answer)).await.map_err(closed)?;
        answered.await.map_err(|_| StoreError::closed())?
    }
}

/// Writes until nobody can ask any more.
async fn write(database: Database, mut waiting: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(AT_ONCE);
    while waiting.recv_many(&mut jobs, AT_ONCE).await > 0 {
        // Several collectors lock the same rows in the same order: quotas, live, runs.
        jobs.sort_by(|a, b| a.place().cmp(&b.place()));
        match together(&database, &jobs).await {
            Ok(done) => jobs
                .drain(..)
                .zip(done)
                .for_each(|(job, done)| job.tell(Ok(done))),
            // One may have spoiled it for all.
            Err(error) if jobs.len() > 1 && !error.meets_all() => {
                for job in jobs.drain(..) {
                    let done = together(&database, std::slice::from_ref(&job)).await;
                    job.tell(done.and_then(|mut done| done.pop().ok_or_else(StoreError::closed)));
                }
            }
            Err(error) => jobs.drain(..).for_each(|job| job.tell(Err(error.clone()))),
        }
    }
}

/// Does `jobs` in one transaction.
async fn together(database: &Database, jobs: &[Job]) -> Result<Vec<Done>, StoreError> {
    let mut transaction = database.begin().await?;
    let (mut done, mut runs) = (Vec::with_capacity(jobs.len()), Vec::new());
    for job in jobs {
        match job {
            Job::Spend(spending, _) => {
                done.push(Done::Spend(quota::spend(&mut transaction, spending).await?));
            }
            Job::Live(batch, now_s, _) => {
                live::push(&mut transaction, batch, *now_s).await?;
                done.push(Done::Live);
            }
            // The last by their place.
            Job::Put(run, _) => runs.push(&**run),
        }
    }
    let puts = run::put(&mut transaction, &runs).await?;
    done.extend(puts.into_iter().map(Done::Put));
    transaction.commit().await?;
    Ok(done)
}

impl Job {
    /// Where it stands among the others of a transaction.
    fn place(&self) -> (u8, &str) {
        match self {
            Job::Spend(spending, _) => (0, &spending.key),
            Job::Live(..) => (1, ""),
            Job::Put(..) => (2, ""),
        }
    }

    /// Who no longer waits for the answer is not told.
    fn tell(self, done: Result<Done, StoreError>) {
        match (self, done) {
            (Job::Spend(_, answer), Ok(Done::Spend(taken))) => drop(answer.send(Ok(taken))),
            (Job::Live(_, _, answer), Ok(Done::Live)) => drop(answer.send(Ok(()))),
            (Job::Put(_, answer), Ok(Done::Put(put))) => drop(answer.send(Ok(put))),
            (Job::Spend(_, answer), Err(error)) => drop(answer.send(Err(error))),
            (Job::Live(_, _, answer), Err(error)) => drop(answer.send(Err(error))),
            (Job::Put(_, answer), Err(error)) => drop(answer.send(Err(error))),
            // Each job is done as what it is.
            (_, Ok(_)) => {}
        }
    }
}
