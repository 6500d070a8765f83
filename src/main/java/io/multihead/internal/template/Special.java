package io.multihead.internal.template;

/** Values without a content. */
enum Special {
    /** Python's {@code None}, and JSON's null. */
    NONE,
    /** An argument that was not given. */
    ABSENT
}
