package io.multihead.internal.toolcall;

/** A call: its id, which is empty if the answer has none, the tool's name, and a JSON object. */
public record Call(String id, String name, String arguments) {}
