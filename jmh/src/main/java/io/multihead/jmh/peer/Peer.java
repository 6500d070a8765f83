package io.multihead.jmh.peer;

/** Creates a peer's call, or reports that the peer is not available. Nothing is skipped silently. */
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

    /** Returns the error of a case that a peer does not support. */
    public static IllegalStateException absent(String impl, String reason) {
        return new Absent(impl, reason, null);
    }

    /** Returns the error of a name that this benchmark does not have, so that no other call is timed instead. */
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
