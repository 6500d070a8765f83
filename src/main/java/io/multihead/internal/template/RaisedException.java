package io.multihead.internal.template;

/** What a template says of a chat that it refuses: the argument of {@code raise_exception}. */
public final class RaisedException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    RaisedException(String words) {
        super(words);
    }
}
