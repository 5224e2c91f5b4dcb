// SPDX-License-Identifier: GPL-2.0-only
//! nl80211: what a radio can do, by its wiphy. (The contention window is not among it: nl80211 takes
//! NL80211_ATTR_WIPHY_TXQ_PARAMS, and gives it to nobody.)

use crate::generic;
use meshpace_netlink::codec::{Attribute, Request};

const CMD_GET_WIPHY: u8 = 1;

const ATTR_IFINDEX: u16 = 3;
const ATTR_WIPHY_BANDS: u16 = 22;
const ATTR_WIPHY_RTS_THRESHOLD: u16 = 64;
const ATTR_SPLIT_WIPHY_DUMP: u16 = 174;

const BAND_ATTR_RATES: u16 = 2;
const BITRATE_ATTR_RATE: u16 = 1;

/// Bit rates of IEEE 802.11's DSSS and HR/DSSS, kbit/s; a legacy rate that is none of them is OFDM's.
const DSSS_KBPS: [u32; 4] = [1_000, 2_000, 5_500, 11_000];

/// Legacy bit rates in one band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    /// The kernel's number of it.
    pub number: u16,
    pub lowest_kbps: u32,
    /// Whether it can do more than DSSS.
    pub ofdm: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wiphy {
    /// Frames of more bytes are preceded by RTS and CTS; `u32::MAX`: none are.
    pub rts_threshold: Option<u32>,
    pub bands: Vec<Band>,
}

/// In pieces, as there may be more than fits a message.
pub(crate) fn request(family: u16, interface: u32) -> Request {
    generic::dump(family, CMD_GET_WIPHY)
        .attribute(ATTR_IFINDEX, &interface.to_ne_bytes())
        .attribute(ATTR_SPLIT_WIPHY_DUMP, &[])
}

/// One piece.
pub(crate) fn parse(body: &[u8]) -> Option<Wiphy> {
    let mut wiphy = Wiphy::default();
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_WIPHY_RTS_THRESHOLD => wiphy.rts_threshold = attribute.u32(),
            ATTR_WIPHY_BANDS => wiphy.bands = attribute.nested().filter_map(band).collect(),
            _ => {}
        }
    }
    Some(wiphy)
}

fn band(band: Attribute) -> Option<Band> {
    let rates = band.nested().find(|a| a.kind == BAND_ATTR_RATES)?;
    let kbps: Vec<u32> = rates.nested().filter_map(rate_kbps).collect();
    Some(Band {
        number: band.kind,
        lowest_kbps: *kbps.iter().min()?,
        ofdm: kbps.iter().any(|rate| !DSSS_KBPS.contains(rate)),
    })
}

/// In units of 100 kbit/s on the wire.
fn rate_kbps(rate: Attribute) -> Option<u32> {
    let mut fields = rate.nested();
    let hundreds = fields.find(|a| a.kind == BITRATE_ATTR_RATE)?.u32()?;
    (hundreds > 0).then(|| hundreds.saturating_mul(100))
}

impl Wiphy {
    /// All pieces together.
    pub fn join(pieces: impl IntoIterator<Item = Wiphy>) -> Wiphy {
        pieces.into_iter().fold(Wiphy::default(), |mut all, piece| {
            all.rts_threshold = all.rts_threshold.or(piece.rts_threshold);
            all.bands.extend(piece.bands);
            all
        })
    }

    /// The band of a frequency.
    pub fn band_of(&self, mhz: u32) -> Option<&Band> {
        let number = match mhz {
            2_000..=2_999 => 0,
            4_900..=5_924 => 1,
            5_925..=7_125 => 3,
            _ => return None,
        };
        self.bands.iter().find(|band| band.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::{attribute, body, torture};

    const GENL: [u8; 4] = [0, 3, 0, 0];

    /// A piece with one band of rates in 100 kbit/s.
    fn piece(number: u16, rates: &[u32]) -> Vec<u8> {
        let rates: Vec<u8> = (0u16..)
            .zip(rates)
            .flat_map(|(n, rate)| attribute(n, &attribute(BITRATE_ATTR_RATE, &rate.to_ne_bytes())))
            .collect();
        let band = attribute(number, &attribute(BAND_ATTR_RATES, &rates));
        body(&GENL, &[(ATTR_WIPHY_BANDS | 0x8000, &band)])
    }

    #[test]
    fn pieces_make_a_radio() {
        let threshold = body(&GENL, &[(ATTR_WIPHY_RTS_THRESHOLD, &500u32.to_ne_bytes())]);
        let messages = [
            threshold,
            piece(0, &[10, 20, 55, 110]),
            piece(1, &[60, 90, 540]),
        ];
        let wiphy = Wiphy::join(messages.iter().filter_map(|m| parse(m)));
        assert_eq!(wiphy.rts_threshold, Some(500));
        let old = wiphy.band_of(2412).unwrap();
        assert_eq!((old.lowest_kbps, old.ofdm), (1_000, false));
        let new = wiphy.band_of(5180).unwrap();
        assert_eq!((new.lowest_kbps, new.ofdm), (6_000, true));
        assert_eq!(wiphy.band_of(5955), None, "6 GHz is a band of its own");
        messages.iter().for_each(|message| torture(message, parse));
    }

    #[test]
    fn erp_is_ofdm_beside_dsss() {
        let wiphy = parse(&piece(0, &[10, 20, 55, 110, 60, 120, 540])).unwrap();
        let band = wiphy.band_of(2437).unwrap();
        assert_eq!((band.lowest_kbps, band.ofdm), (1_000, true));
    }

    #[test]
    fn a_band_without_rates_tells_nothing() {
        assert_eq!(parse(&piece(0, &[])).unwrap().bands, []);
        assert_eq!(parse(&piece(0, &[0])).unwrap().bands, []);
    }
}
