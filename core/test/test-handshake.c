/* SPDX-License-Identifier: GPL-2.0-only */
/* RTT_wired by a handshake: of one that was sent once, and of its first answer. */
#include "check.h"

#include <meshpace/endpoint/handshake.h>

int main(int argc, char **argv)
{
	struct mp_handshake none = { 0 }, handshake;

	check_begin(argc, argv);
	CHECK_EQUAL(mp_handshake_answered(&none, 5000000), 0);
	handshake = mp_handshake_of(NULL, true, 0, 1000000);
	CHECK_EQUAL(handshake.asked, 1);
	CHECK_EQUAL(handshake.window_scale, 1);
	CHECK_EQUAL(mp_handshake_answered(&handshake, 21000000), 20000);
	CHECK_EQUAL(mp_handshake_answered(&handshake, 99000000), 20000);
	/* The same ports anew; then a SYN that was sent again: whose answer is it? */
	handshake = mp_handshake_of(&handshake, false, 8, 100000000);
	CHECK_EQUAL(handshake.window_scale, 8);
	handshake = mp_handshake_of(&handshake, false, 8, 101000000);
	CHECK_EQUAL(mp_handshake_answered(&handshake, 102000000), 0);
	handshake = mp_handshake_of(&none, false, 8, 1000);
	CHECK_EQUAL(mp_handshake_answered(&handshake, 1001), 1); /* 0 would be none */
	return check_end();
}
