// SPDX-License-Identifier: GPL-2.0-only
//! What the keeper of classes does when the kernel fails it, with a kernel that is made up.
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::*;
use crate::base::errors::anyhow;

const MS: u64 = 1_000_000;
const IFB: i32 = 12;

#[derive(Default)]
struct Faults {
    netlink: Cell<bool>,
    entering: Cell<bool>,
    reading: Cell<bool>,
}

#[derive(Default)]
struct Fake {
    faults: Rc<Faults>,
    /// orders that came to netlink, whatever became of them
    orders: usize,
    entries: RefCell<HashMap<mp_flow_key, mp_class>>,
    /// packets look for them
    lined: Cell<bool>,
}

fn fails(fault: &Cell<bool>, errno: i32) -> io::Result<()> {
    match fault.get() {
        true => Err(io::Error::from_raw_os_error(errno)),
        false => Ok(()),
    }
}

impl World for Fake {
    fn order(&mut self, orders: Vec<Request>) -> io::Result<Vec<io::Result<()>>> {
        self.orders += orders.len();
        fails(&self.faults.netlink, libc::ENOBUFS)?;
        Ok(orders.iter().map(|_| Ok(())).collect())
    }

    fn entries(&self) -> Result<Entries> {
        fails(&self.faults.reading, libc::ENOMEM)?;
        let entries = self.entries.borrow();
        Ok(entries.iter().map(|(key, class)| (*key, *class)).collect())
    }

    fn enter(&self, key: &mp_flow_key, minor: u16, _: u64) -> Result<()> {
        fails(&self.faults.entering, libc::E2BIG).map_err(|error| anyhow!(error))?;
        let class = mp_class {
            minor: minor.into(),
            ..Default::default()
        };
        self.entries.borrow_mut().insert(*key, class);
        Ok(())
    }

    fn remove(&self, key: &mp_flow_key) {
        self.entries.borrow_mut().remove(key);
    }

    fn forget_all(&self) -> Result<()> {
        fails(&self.faults.reading, libc::ENOMEM)?;
        self.entries.borrow_mut().clear();
        Ok(())
    }

    fn has_waiting(&self, _: &mp_flow_key) -> bool {
        false
    }

    fn set_lined(&self, lined: bool) -> Result<()> {
        fails(&self.faults.entering, libc::E2BIG).map_err(|error| anyhow!(error))?;
        self.lined.set(lined);
        Ok(())
    }

    fn set_silent(&self, _: u64) {}
}

fn flow(port: u16) -> mp_flow_key {
    mp_flow_key {
        mesh: [1; 16],
        wired: [9; 16],
        mesh_port: port,
        ..Default::default()
    }
}

fn keeper() -> (Keeper<Fake>, Rc<Faults>) {
    let fake = Fake::default();
    let faults = fake.faults.clone();
    let ifb = Arc::new(Ifb::made_up(IFB));
    let mut keeper = Keeper::new(fake, Arc::default(), ifb);
    keeper.follow();
    (keeper, faults)
}

fn number(keeper: &Keeper<Fake>, port: u16) -> Option<u32> {
    let entries = keeper.world.entries.borrow();
    entries.get(&flow(port)).map(|class| class.minor)
}

/// Else a full buffer of netlink's is the end of the gateway.
#[test]
fn when_netlink_fails_the_ifb_is_left_and_all_goes_on_behind_the_next() {
    let (mut keeper, faults) = keeper();
    keeper.serve(&flow(1), MS);
    assert!(number(&keeper, 1).is_some());
    faults.netlink.set(true);
    keeper.serve(&flow(2), MS);
    assert_eq!(keeper.ifb.index(), 0, "nobody knows what is behind it");
    assert_eq!(number(&keeper, 2), None);
    let orders = keeper.world.orders;
    keeper.serve(&flow(3), MS);
    assert_eq!(keeper.world.orders, orders, "each would be waited for");
    faults.netlink.set(false);
    keeper.ifb.make_up_anew(IFB + 1);
    keeper.follow();
    assert_eq!(number(&keeper, 1), None, "its class went with the old one");
    keeper.serve(&flow(1), MS);
    assert!(number(&keeper, 1).is_some());
    assert_eq!(keeper.ifb.index(), IFB + 1);
}

/// Else a table that is full, or that has no memory, is the end of the gateway, or that flow is never paced.
#[test]
fn a_line_that_cannot_be_entered_passes_and_is_tried_again() {
    let (mut keeper, faults) = keeper();
    faults.entering.set(true);
    keeper.serve(&flow(1), MS);
    let orders = keeper.world.orders;
    keeper.serve(&flow(1), MS);
    assert_eq!(number(&keeper, 1), None);
    assert_eq!(keeper.world.orders, orders, "its class is there");
    faults.entering.set(false);
    keeper.serve(&flow(1), MS);
    assert!(number(&keeper, 1).is_some());
    assert_eq!(keeper.ifb.index(), IFB);
    faults.entering.set(true);
    keeper.serve(&flow(2), MS);
    let orders = keeper.world.orders;
    keeper.tidy(0);
    keeper.tidy(MS);
    assert_eq!(keeper.world.orders, orders + 1, "no packet finds it");
}

/// Else a packet that waits nowhere is looked for in three tables, or one whose line is there passes by it.
#[test]
fn packets_look_for_their_lines_while_there_are_some() {
    let (mut keeper, faults) = keeper();
    assert!(!keeper.world.lined.get());
    keeper.serve(&flow(1), MS);
    assert!(keeper.world.lined.get());
    keeper.tidy(0);
    assert!(keeper.world.lined.get(), "its packet may come yet");
    let (hour, day) = (3600 * 1000 * MS, 24 * 3600 * 1000 * MS);
    keeper.tidy(hour);
    keeper.tidy(day);
    keeper.tidy(day + hour);
    assert!(!keeper.world.lined.get());
    keeper.serve(&flow(1), MS);
    assert!(keeper.world.lined.get());
    faults.entering.set(true);
    keeper.tidy(2 * day);
    keeper.tidy(3 * day);
    keeper.tidy(4 * day);
    assert!(keeper.world.lined.get(), "they look for nothing, no more");
}

/// Else what cannot be read for once is the end of the gateway, or of all classes.
#[test]
fn a_table_that_cannot_be_read_is_as_it_was() {
    let (mut keeper, faults) = keeper();
    keeper.serve(&flow(1), MS);
    keeper.control.waiting.store(7, Ordering::Relaxed);
    faults.reading.set(true);
    let orders = keeper.world.orders;
    for second in 0..5 {
        keeper.tidy(second * 1000 * MS);
        keeper.tell_held();
    }
    assert_eq!(keeper.world.orders, orders);
    assert!(number(&keeper, 1).is_some());
    assert_eq!(keeper.control.waiting.load(Ordering::Relaxed), 7);
}

/// Else a host whose datagrams wait here seems to want no more than it gets.
#[test]
fn what_waits_is_told_of_flows_and_of_datagrams() {
    let (keeper, _) = keeper();
    let line = |number: u32| mp_flow_key {
        wired: [0; 16],
        ..flow(number as u16)
    };
    let mut waits = mp_class::default();
    waits.hold.came = 7;
    let lines = [
        flow(1),
        line(intf::mp_line_MP_LINE_NEW),
        line(intf::mp_line_MP_LINE_SPARSE),
        line(intf::mp_line_MP_LINE_BULK),
        line(intf::mp_line_MP_LINE_ACKS),
    ];
    let mut entries: Entries = lines.iter().map(|key| (*key, waits)).collect();
    entries.push((flow(2), mp_class::default()));
    keeper.set_held(&entries);
    let told = HashSet::from([flow(1), lines[2], lines[3]]);
    assert_eq!(keeper.control.held_flows(), told);
}

/// Else one datagram is fifteen hundred packets to whoever reads the status.
#[test]
fn packets_are_counted_and_not_bytes() {
    let mut class = mp_class::default();
    (class.hold.came, class.hold.left) = (5000, 2000);
    (class.of_bucket[3], class.of_bucket[7]) = (1, 2);
    let line = |number: u32| mp_flow_key {
        wired: [0; 16],
        ..flow(number as u16)
    };
    let of = |key| packets(&(key, class));
    assert_eq!(of(line(intf::mp_line_MP_LINE_BULK)), 3);
    assert_eq!(of(line(intf::mp_line_MP_LINE_ACKS)), 3000);
    assert_eq!(of(flow(1)), 3000);
    class.hold.left = 5000;
    let of = |key| packets(&(key, class));
    assert_eq!(of(line(intf::mp_line_MP_LINE_BULK)), 0, "nothing waits");
}

/// Else lines find numbers that other lines' classes have by then.
#[test]
fn behind_a_new_ifb_no_class_is_made_before_the_old_ones_are_forgotten() {
    let (mut keeper, faults) = keeper();
    keeper.serve(&flow(1), MS);
    faults.reading.set(true);
    keeper.ifb.make_up_anew(IFB + 1);
    keeper.follow();
    keeper.serve(&flow(2), MS);
    assert_eq!(number(&keeper, 2), None);
    faults.reading.set(false);
    keeper.follow();
    keeper.serve(&flow(2), MS);
    assert_eq!((number(&keeper, 1), number(&keeper, 2)), (None, Some(2)));
}

/// Else the log has a line for each packet.
#[test]
fn what_fails_with_each_packet_is_told_once_in_a_while() {
    let (mut keeper, faults) = keeper();
    faults.entering.set(true);
    keeper.serve(&flow(1), MS);
    let told = keeper.told.clone();
    keeper.serve(&flow(1), MS);
    assert_eq!((told.len(), &told), (1, &keeper.told));
}
