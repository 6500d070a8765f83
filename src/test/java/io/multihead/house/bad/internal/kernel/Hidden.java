package io.multihead.house.bad.internal.kernel;

/** Not exported. */
public final class Hidden {}
