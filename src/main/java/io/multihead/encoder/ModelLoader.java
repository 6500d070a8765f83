package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.text.WordPiece;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/**
 * Reads a model and its tokenizer, at the same time where a Compute has several threads. Inflating and packing MiniLM takes 0.6 s on
 * one thread. The other computes with a small model meanwhile, once it has the tokenizer, so that the first text does not wait for the
 * classes of the Vector API and the first compilations: it takes 0.25 instead of 0.45 s (AMD Zen 4, 2 cores).
 */
final class ModelLoader implements LoopBody {
    private static final int SMALL_TOKENS = 8;
    private static final BertConfig SMALL = new BertConfig(64, 1, 2, 128, 1, SMALL_TOKENS, 1, 1e-12);

    /** Batches of the small model: 8 take 0.3 s in a fresh JVM, and a few ms once the kernels are compiled. */
    private static final int MOST_BATCHES = 8;

    private final FutureTask<BertModel> model;
    private final FutureTask<WordPiece> tokenizer;

    private ModelLoader(Callable<BertModel> model, Callable<WordPiece> tokenizer) {
        this.model = new FutureTask<>(model);
        this.tokenizer = new FutureTask<>(tokenizer);
    }

    /** Reads both, or fails as the model does, else as the tokenizer does. */
    static EncoderCore load(Compute cpu, Callable<BertModel> model, Callable<WordPiece> tokenizer) throws IOException {
        ModelLoader loader = new ModelLoader(model, tokenizer);
        SingleCall.run(cpu, loader, 2);
        return new EncoderCore(cpu, result(loader.model), result(loader.tokenizer));
    }

    @Override
    public void run(long task, Workspace scratch) {
        if (task == 0) {
            model.run();
        } else {
            tokenizer.run();
            computeUntilModelIsRead();
        }
    }

    private void computeUntilModelIsRead() {
        if (model.isDone()) {
            return;
        }
        BertModel small = BertModel.of(SMALL, Weights.zeros());
        Activations activations = new Activations(SMALL, SMALL_TOKENS);
        TokenBatch batch = new TokenBatch(SMALL_TOKENS);
        batch.begin();
        for (int token = 0; token < SMALL_TOKENS; token++) {
            batch.add(0);
        }
        try (Compute serial = Compute.serial()) {
            for (int i = 0; i < MOST_BATCHES && !model.isDone(); i++) {
                small.forward(serial, batch, activations);
            }
        }
    }

    private static <T> T result(Future<T> task) throws IOException {
        if (task.state() != Future.State.FAILED) {
            return task.resultNow();
        }
        switch (task.exceptionNow()) {
            case IOException failed -> throw failed;
            case Error failed -> throw failed;
            case RuntimeException failed -> throw failed;
            case Throwable failed -> throw new AssertionError(failed);
        }
    }
}
