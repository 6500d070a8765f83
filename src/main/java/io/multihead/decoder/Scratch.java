package io.multihead.decoder;

import io.multihead.compute.Compute;

/** What a call needs to choose tokens, for all of its sessions, one after another. */
record Scratch(Compute cpu, Sampler sampler) {}
