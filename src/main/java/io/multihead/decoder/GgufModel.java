package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Tensor;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A GGUF file. */
record GgufModel(Gguf file) implements ModelFile {
    @Override
    public Set<String> names() {
        return file.names();
    }

    @Override
    public @Nullable BlockTensor findBlocks(String name) {
        return file.blockType(name).isPresent() ? file.blocks(name) : null;
    }

    @Override
    public Tensor tensor(String name) {
        return file.tensor(name);
    }

    @Override
    public String nameOf(String ggufName) {
        return ggufName;
    }
}
