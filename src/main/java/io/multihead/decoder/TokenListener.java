package io.multihead.decoder;

/**
 * Is told of each token as it is generated. It may ask the session for {@link Session#nextLogits}, {@link Session#save} and {@link
 * Session#fork}, and close it, which ends the call with an {@link IllegalStateException}; other calls of the session fail. What it throws
 * ends the call and reaches its caller, and the session goes on from the token that was told.
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
