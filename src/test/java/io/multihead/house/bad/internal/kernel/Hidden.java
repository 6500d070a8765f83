package io.multihead.house.bad.internal.kernel;

/** Is not exported. */
public final class Hidden {}
