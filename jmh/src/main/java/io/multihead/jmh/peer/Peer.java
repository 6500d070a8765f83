package io.multihead.jmh.peer;

/** Makes a peer's call, or reports that the peer is not available; nothing is skipped silently. */
public final class Peer {
    private Peer() {}

    public interface Maker {
        Runnable make() throws Exception;
    }

    public static Runnable load(String impl, Maker maker) {
        try {
            return maker.make();
        } catch (Absent e) {
            throw e;
        } catch (Exception | LinkageError e) {
            throw new Absent(impl, "cannot load: " + e, e);
        }
    }

    /** For cases that a peer does not support. */
    public static IllegalStateException absent(String impl, String reason) {
        return new Absent(impl, reason, null);
    }

    /** For a name that only another benchmark has, which must not be timed as something else. */
    public static IllegalStateException unknown(String impl) {
        return absent(impl, "is not in this benchmark");
    }

    private static final class Absent extends IllegalStateException {
        private static final long serialVersionUID = 1;

        Absent(String impl, String reason, Throwable cause) {
            super("PEER ABSENT: " + impl + " " + reason, cause);
        }
    }
}
