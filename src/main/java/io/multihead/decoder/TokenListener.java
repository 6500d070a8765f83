package io.multihead.decoder;

/**
 * Receives each token when it is generated. The listener may call {@link Session#nextLogits}, {@link Session#save} and {@link Session#fork}
 * of the session. The listener may also close the session, which ends the call with an {@link IllegalStateException}. Other calls of the
 * session fail. An exception of the listener ends the call and reaches its caller. The session then ends with the token of this call.
 */
@FunctionalInterface
public interface TokenListener {
    /** A listener that does not end the text. */
    TokenListener NONE = token -> true;

    /**
     * Receives the next token, in the order of the text. The thread that generates makes this call.
     *
     * @param token the token, with the text that became certain since the last call
     * @return whether the text continues; false ends it after this token
     */
    boolean onToken(GeneratedToken token);
}
