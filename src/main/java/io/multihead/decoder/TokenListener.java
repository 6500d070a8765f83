package io.multihead.decoder;

/**
 * Receives each token when it is generated. It may ask the session for {@link Session#nextLogits}, {@link Session#save} and {@link
 * Session#fork}, and close it, which ends the call with an {@link IllegalStateException}; other calls of the session fail. An exception of
 * the listener ends the call and reaches its caller. The session then ends with the token of this call.
 */
@FunctionalInterface
public interface TokenListener {
    /** A listener that lets the text go on. */
    TokenListener NONE = token -> true;

    /**
     * Is called on the thread that generates, in order.
     *
     * @param token the token, with the text that is certain since the last call
     * @return whether the text shall go on; false ends it after this token
     */
    boolean onToken(GeneratedToken token);
}
