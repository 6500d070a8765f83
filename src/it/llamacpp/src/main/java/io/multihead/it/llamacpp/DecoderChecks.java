package io.multihead.it.llamacpp;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.IOException;
import java.nio.file.Path;

/** Logits of this library's decoder. */
final class DecoderChecks {
    private DecoderChecks() {}

    /** Returns the logits after each token in row-major order. Keys and values are stored in f16, as in llama.cpp. */
    static float[] logits(Path file, int[] ids) throws IOException {
        try (Compute cpu = Compute.threads(1);
                LanguageModel model = LanguageModel.load(cpu, file);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F16));
                Session session = sessions.open()) {
            float[] logits = new float[ids.length * model.vocabularySize()];
            for (int i = 0; i < ids.length; i++) {
                float[] next = session.append(ids[i]).nextLogits();
                System.arraycopy(next, 0, logits, i * next.length, next.length);
            }
            return logits;
        }
    }
}
