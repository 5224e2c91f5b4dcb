// SPDX-License-Identifier: GPL-2.0-only
//! The thread that reads the tables: a driver that asks its firmware may take long, the caller does
//! not wait for it.

use crate::collector::{Collector, Reading};
use crate::error::Error;
use crate::routes::Wanted;
use crate::tables::Tables;
use std::io;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) struct Worker {
    orders: SyncSender<()>,
    readings: Receiver<Reading>,
    under_way: bool,
    broken: Option<io::Error>,
}

impl Worker {
    /// The thread ends when the worker is dropped.
    pub fn start(mesh: &str, wanted: Arc<Wanted>) -> Worker {
        let (orders, ordered) = sync_channel(1);
        let (results, readings) = sync_channel(1);
        let mesh = mesh.to_owned();
        let thread = thread::Builder::new().name("mesh-tables".into());
        let started = thread.spawn(move || serve(&mesh, wanted, &ordered, &results));
        Worker {
            orders,
            readings,
            under_way: false,
            broken: started.err(),
        }
    }

    /// A new reading, or `None` when it takes longer than `patience`; it comes with a later call
    /// then.
    pub fn read(&mut self, patience: Duration) -> Result<Option<Reading>, Error> {
        if !self.under_way {
            self.orders.try_send(()).map_err(|_| self.ended())?;
            self.under_way = true;
        }
        match self.readings.recv_timeout(patience) {
            Ok(reading) => {
                self.under_way = false;
                Ok(Some(reading))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }

    fn ended(&self) -> Error {
        let cause = match &self.broken {
            Some(error) => io::Error::from(error.kind()),
            None => io::ErrorKind::BrokenPipe.into(),
        };
        Error::new("the thread that reads the mesh's tables", cause)
    }
}

fn serve(mesh: &str, wanted: Arc<Wanted>, ordered: &Receiver<()>, results: &SyncSender<Reading>) {
    let mut collector = None;
    while ordered.recv().is_ok() {
        let reading = read(&mut collector, mesh, &wanted);
        if results.send(reading).is_err() {
            return;
        }
    }
}

fn read(collector: &mut Option<Collector>, mesh: &str, wanted: &Arc<Wanted>) -> Reading {
    let opened = match collector.take() {
        Some(opened) => Ok(opened),
        None => Collector::open(mesh, wanted.clone()),
    };
    match opened {
        Ok(opened) => collector.insert(opened).read(),
        Err(cause) => Reading {
            tables: Tables::default(),
            troubles: vec![Error::new("netlink", cause)],
            failed: true,
        },
    }
}
