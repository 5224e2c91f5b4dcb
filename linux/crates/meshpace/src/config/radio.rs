// SPDX-License-Identifier: GPL-2.0-only
//! `[radio]`: what the law `map` wants to know of this box's mesh radio and no driver tells, and what
//! a driver may be overruled in.
use serde::Deserialize;

use super::in_range;
use crate::kernel::law;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Radio {
    /// carrier-sense threshold T_cs
    pub sense_dbm: f64,
    pub antenna_dbi: f64,
    pub cable_db: f64,
    pub attenuator_db: f64,
    pub path_loss_exponent: f64,
    /// from here on: none: as the driver tells
    pub tx_power_dbm: Option<f64>,
    /// of the next hop, whichever it is
    pub signal_dbm: Option<f64>,
    pub frequency_mhz: Option<u32>,
    /// bit rate of control frames
    pub base_mbps: Option<f64>,
    /// contention window, slots
    pub cw: Option<u32>,
    pub slot_us: Option<u32>,
    pub rts_cts: Option<bool>,
}

impl Default for Radio {
    /// What core/ begins with.
    fn default() -> Self {
        let core = law::radio_default();
        let db = |q8: i16| f64::from(q8) / 256.0;
        Self {
            sense_dbm: db(core.sense_dbm_q8),
            antenna_dbi: db(core.antenna_db_q8),
            cable_db: db(core.cable_db_q8),
            attenuator_db: db(core.attenuator_db_q8),
            path_loss_exponent: f64::from(core.exponent_q8) / 256.0,
            tx_power_dbm: None,
            signal_dbm: None,
            frequency_mhz: None,
            base_mbps: None,
            cw: None,
            slot_us: None,
            rts_cts: None,
        }
    }
}

impl Radio {
    pub(super) fn check(&self) -> Result<(), String> {
        let always = [
            ("sense_dbm", self.sense_dbm, -120.0, -20.0),
            ("antenna_dbi", self.antenna_dbi, -20.0, 50.0),
            ("cable_db", self.cable_db, 0.0, 60.0),
            ("attenuator_db", self.attenuator_db, 0.0, 120.0),
            ("path_loss_exponent", self.path_loss_exponent, 1.0, 10.0),
        ];
        let overruled = [
            ("tx_power_dbm", self.tx_power_dbm, -30.0, 60.0),
            // 0 dBm is how drivers, and core/, say that nothing was heard.
            ("signal_dbm", self.signal_dbm, -120.0, -1.0),
            (
                "frequency_mhz",
                self.frequency_mhz.map(f64::from),
                400.0,
                100_000.0,
            ),
            ("base_mbps", self.base_mbps, 0.1, 1_000.0),
            ("cw", self.cw.map(f64::from), 1.0, 32_767.0),
            ("slot_us", self.slot_us.map(f64::from), 1.0, 255.0),
        ];
        let given = overruled
            .into_iter()
            .filter_map(|(key, value, least, most)| Some((key, value?, least, most)));
        always
            .into_iter()
            .chain(given)
            .try_for_each(|(key, value, least, most)| {
                in_range(&format!("radio.{key}"), value, least, most)
            })
    }
}
