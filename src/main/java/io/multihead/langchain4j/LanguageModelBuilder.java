package io.multihead.langchain4j;

import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.LoadOptions;
import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The common part of builders of all models on a language model: a path, and the options of loading. Not thread-safe.
 *
 * @param <M> the model
 * @param <B> the builder
 */
abstract class LanguageModelBuilder<M, B extends LanguageModelBuilder<M, B>> extends ModelBuilder<M, B> {
    private @Nullable Path path;
    private LoadOptions loading = LoadOptions.DEFAULT;

    LanguageModelBuilder() {}

    /**
     * Takes the model from a GGUF file or a folder, as {@link LanguageModel#load} does.
     *
     * @param newPath the file or folder
     * @return this
     */
    public B path(Path newPath) {
        path = Checks.notNull(newPath, "path");
        return self();
    }

    /**
     * Sets the options of loading: a listener of the progress, and whether inputs of 4-bit weights have 8 bits.
     *
     * @param newOptions the options
     * @return this
     */
    public B loadOptions(LoadOptions newOptions) {
        loading = Checks.notNull(newOptions, "loadOptions");
        return self();
    }

    /** Creates the model from a language model, which it then owns. If this fails, the language model is closed. */
    abstract M load(LanguageModel loaded, ModelThreads open);

    @Override
    final M load(ModelThreads open) throws IOException {
        if (path == null) {
            throw Checks.fail("path", "absent", "expected a model's file");
        }
        LanguageModel loaded = LanguageModel.load(open.cpu(), path, loading);
        try {
            return load(loaded, open);
        } catch (Throwable failed) {
            loaded.close();
            throw failed;
        }
    }

    /** Returns the name of the file or folder. */
    final String fileName() {
        return path == null
                ? ""
                : String.valueOf(path.toAbsolutePath().normalize().getFileName());
    }
}
