package io.multihead.encoder;

import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.EncoderFamilies;
import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.Normalization;
import io.multihead.internal.encoder.layer.PoolingConfig;
import io.multihead.internal.encoder.load.Checkpoint;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.StaticTable;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.ModelFolder.Framework;
import io.multihead.internal.load.TextLength;
import io.multihead.internal.load.TextModules;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Reads folders that sentence-transformers wrote. */
final class EncoderFolder {
    /** Folders for which a warning was logged. */
    private static final Set<Path> PLAIN = ConcurrentHashMap.newKeySet();

    private EncoderFolder() {}

    /** Reads all files of a folder, and maps the weights. */
    static LoadedEncoder load(Loading loading, Path folder) throws IOException {
        ModelFolder.require(folder, ", or a GGUF file; SentenceEncoder.map reads files of SentenceEncoder.write");
        boolean modular = ModelFolder.isModular(folder);
        TextModules modules = modular ? TextModules.read(folder) : plain(folder);
        Framework framework = ModelFolder.framework(folder, "SentenceTransformer", EncoderFolder::requireDimension);
        Path files = modules.tokens();
        if (modular && modules.pooling() == null) {
            loading.requireNoAdapter(folder, "static embeddings");
            EncoderCore core = StaticTable.load(loading, files);
            return loaded(core, core.tokenizer.truncation().orElse(core.model.config.positions()), modules, framework);
        }
        EncoderConfig config = ModelFolder.config(files, EncoderFamilies::configure);
        int maxTokens = TextLength.of(files, modular, TextLength.Task.EMBEDDING, config.positions());
        LoadedEncoder encoder = loaded(Checkpoint.load(loading, files, config, 0), maxTokens, modules, framework);
        if (!modular && PLAIN.add(folder.toAbsolutePath())) {
            System.getLogger("io.multihead")
                    .log(
                            System.Logger.Level.WARNING,
                            folder + ": no modules.json; pooling is the mean, without normalization and prompts");
        }
        return encoder;
    }

    private static LoadedEncoder loaded(EncoderCore core, int maxTokens, TextModules modules, Framework framework)
            throws IOException {
        PoolingConfig pooling = PoolingConfig.of(modules.pooling());
        int pooled = pooling.modes().size() * core.model.config.dim();
        return core.orClose(() -> new LoadedEncoder(
                core,
                DenseLayers.load(core.loading, modules.dense(), pooled),
                new EncoderOptions(
                        pooling,
                        modules.normalized() ? Normalization.WHOLE : Normalization.NONE,
                        dimension(framework),
                        maxTokens,
                        LongTexts.TRUNCATE,
                        framework.prompt()),
                framework.prompts(),
                framework.prompt(),
                TokenizerFiles.map(core, modules.tokens())));
    }

    private static Framework requireDimension(Framework framework) {
        dimension(framework);
        return framework;
    }

    private static int dimension(Framework framework) {
        return framework.json().integer("truncate_dim", 1, Integer.MAX_VALUE, EncoderOptions.WHOLE);
    }

    /**
     * Returns the modules that sentence-transformers assumes in a folder without modules. It fails for the heads of a {@link Reranker} or a
     * {@link TokenEncoder}, which would have no effect.
     */
    private static TextModules plain(Path folder) throws IOException {
        ModelFolder.config(folder, EncoderFolder::requireOwn);
        return new TextModules(folder, null, List.of(), false);
    }

    private static JsonObject requireOwn(JsonObject config) {
        if (EncoderFamilies.isArchitecture(config, "ForSequenceClassification")) {
            throw config.fail("architectures", "an encoder, or a Reranker for this folder");
        }
        if (EncoderFamilies.isArchitecture(config, "ColBERT")) {
            throw config.fail("architectures", "an encoder, or a TokenEncoder for this folder");
        }
        return config;
    }
}
