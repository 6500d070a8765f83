package io.multihead.decoder;

/** Is told of each token as it is generated. */
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
