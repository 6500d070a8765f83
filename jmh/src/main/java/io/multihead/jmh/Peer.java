package io.multihead.jmh;

import java.util.Locale;

/** Makes a peer's call, or says that the peer cannot be had; nothing is skipped in silence. */
final class Peer {
    private Peer() {}

    interface Maker {
        Runnable make() throws Exception;
    }

    static Runnable load(String impl, Maker maker) {
        try {
            return maker.make();
        } catch (Exception | LinkageError e) {
            throw new IllegalStateException(String.format(Locale.ROOT, "PEER ABSENT: %s cannot load: %s", impl, e), e);
        }
    }
}
