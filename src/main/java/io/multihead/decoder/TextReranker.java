package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.text.PromptText;
import io.multihead.text.Tokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Scores passages for a query with a language model that answers yes or no, such as Qwen3-Reranker (Zhang et al. 2025, "Qwen3 Embedding").
 * A score is the probability of {@code yes} against {@code no}, after a prompt with an instruction, the query and the passage. The prompt
 * and the score equal the model card's example for transformers.
 *
 * <p>The common start of the prompts, with instruction and query, is computed once for all passages of a call, and kept for later calls if
 * {@link SessionOptions#keepsPrefixes}. Passages are computed in batches. The bits of a score do not depend on the batch, on the number of
 * threads, or on the lane width.
 *
 * <p>Query, passage and instruction are texts, in which nothing is a control token. A prompt that is longer than {@link #maxTokens} is an
 * error. Prompts are never truncated.
 *
 * <p>Immutable and thread-safe. Calls of several threads share batches. {@link #close} frees keys and values of this reranker and of the
 * rerankers that {@link #withInstruction} made from it. The caller closes the model.
 */
public final class TextReranker implements AutoCloseable {
    /** The default instruction, with which the models were trained for web searches. */
    public static final String WEB_SEARCH =
            "Given a web search query, retrieve relevant passages that answer the query";

    private static final String BEGIN = "<|im_start|>system\nJudge whether the Document meets the requirements based on"
            + " the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
            + "<|im_start|>user\n";
    private static final String END = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
    private static final List<String> CONTROLS = List.of("<|im_start|>", "<|im_end|>");
    /**
     * The number of passages that are computed at the same time, if there is memory. With this number, batches of short passages are full.
     */
    private static final int TOGETHER = 16;

    private final Sessions sessions;
    private final Tokenizer tokenizer;
    private final String instruction;
    private final Prompt prompt;

    /**
     * The common part of all prompts.
     *
     * @param begin the tokens before the texts
     * @param end the tokens after the texts
     * @param capacity the number of tokens that have memory at the same time
     */
    private record Prompt(AnswerTask.Answers answers, int[] begin, int[] end, long capacity) {}

    private TextReranker(Sessions sessions, Tokenizer tokenizer, String instruction, Prompt prompt) {
        this.sessions = sessions;
        this.tokenizer = tokenizer;
        this.instruction = instruction;
        this.prompt = prompt;
    }

    /** Fails unless the tokenizer has the answers and the control tokens of the prompt. */
    static void requireTokens(Tokenizer tokenizer) {
        for (String control : CONTROLS) {
            if (tokenizer.find(control) < 0 || !tokenizer.isControl(tokenizer.find(control))) {
                throw Checks.fail(
                        "tokenizer", "no control token " + control, "expected the tokenizer of Qwen3-Reranker");
            }
        }
        answer(tokenizer, "yes");
        answer(tokenizer, "no");
    }

    private static int answer(Tokenizer tokenizer, String word) {
        int id = tokenizer.find(word);
        if (id < 0) {
            throw Checks.fail("tokenizer", "no token " + word, "expected yes and no, as Qwen3-Reranker answers");
        }
        return id;
    }

    /**
     * Creates a reranker that owns sessions. The tokenizer has the tokens of {@link #requireTokens}. If {@code ranks} is true, the head has
     * two rows, yes and no.
     */
    static TextReranker of(Sessions sessions, Tokenizer tokenizer, int together, boolean ranks) {
        AnswerTask.Answers answers = ranks
                ? new AnswerTask.Answers(0, 1)
                : new AnswerTask.Answers(answer(tokenizer, "yes"), answer(tokenizer, "no"));
        long capacity = (long) sessions.contextTokens() * together;
        Prompt prompt = new Prompt(
                answers,
                tokenizer.encode(PromptText.template(BEGIN)),
                tokenizer.encode(PromptText.template(END)),
                capacity);
        return new TextReranker(sessions, tokenizer, WEB_SEARCH, prompt);
    }

    /**
     * Returns a reranker of the same model and memory with another instruction.
     *
     * @param newInstruction a description of the requested passages, in English, as in the models' training; the default is {@link
     *     #WEB_SEARCH}
     * @return the reranker; closing one of the two rerankers closes both
     */
    public TextReranker withInstruction(String newInstruction) {
        Checks.notNull(newInstruction, "instruction");
        return new TextReranker(sessions, tokenizer, newInstruction, prompt);
    }

    /** {@return the instruction of the prompt} */
    public String instruction() {
        return instruction;
    }

    /** {@return the largest number of tokens of a prompt: query, passage, instruction and the
     * template's text} */
    public int maxTokens() {
        return sessions.contextTokens();
    }

    /**
     * {@return counts of prompts that began with prefixes of earlier calls ({@link SessionOptions#keepsPrefixes}); counted since this
     * reranker was made}
     */
    public PrefixReuse prefixReuse() {
        return sessions.prefixReuse();
    }

    /**
     * Computes the score of a passage.
     *
     * @param query any text
     * @param passage any text
     * @return the score, 0 to 1; a higher score means that the passage fits the instruction and the query better
     * @throws IllegalArgumentException if the prompt has more than {@link #maxTokens} tokens
     * @throws ArithmeticException if the logit of an answer is not finite
     * @throws IllegalStateException if this reranker or the model is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other calls hold the memory that this one needs for longer than {@code
     *     SessionOptions#maxWait}
     */
    public double score(String query, String passage) {
        Checks.notNull(passage, "passage");
        return score(query, List.of(passage), "passage")[0];
    }

    /**
     * Computes the scores of passages.
     *
     * @param query any text
     * @param passages any texts
     * @return a new array, with a score from 0 to 1 for each passage
     * @throws IllegalArgumentException if the prompt of a passage has more than {@link #maxTokens} tokens; nothing is computed
     * @throws ArithmeticException if the logit of an answer is not finite; the message names the first such passage
     * @throws IllegalStateException if this reranker or the model is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other calls hold the memory that this one needs for longer than {@code
     *     SessionOptions#maxWait}
     */
    public double[] score(String query, List<String> passages) {
        return score(query, Checks.noNulls(passages, "passages"), "passages[%]");
    }

    private double[] score(String query, List<String> passages, String name) {
        Checks.notNull(query, "query");
        if (passages.isEmpty()) {
            return new double[0];
        }
        List<int[]> prompts = new ArrayList<>();
        for (String passage : passages) {
            int[] tokens = prompt(query, passage);
            if (tokens.length > maxTokens()) {
                throw Checks.fail(
                        name.replace("%", String.valueOf(prompts.size())),
                        tokens.length + " tokens with its query and the template",
                        "expected at most " + maxTokens());
            }
            prompts.add(tokens);
        }
        double[] scores = new double[prompts.size()];
        SessionState base = sessions.openState();
        try {
            add(base, prompt(query, ""), 0, sharedTokens(prompt(query, ""), prompts));
            sessions.run(List.of(new PrefixTask(base)));
            for (int first = 0; first < scores.length; ) {
                int last = together(prompts, first, base.tokens.size());
                score(base, prompts.subList(first, last), name, scores, first);
                first = last;
            }
        } finally {
            base.close(); // later calls reuse the tokens of the session
        }
        return scores;
    }

    /** Returns the end of the passages that have memory at the same time, beginning with {@code first}. */
    private int together(List<int[]> prompts, int first, int shared) {
        long capacity = prompt.capacity - shared;
        int last = first;
        do {
            capacity -= Math.ceilDiv(prompts.get(last).length - shared, SessionCache.PAGE) * SessionCache.PAGE;
            last++;
        } while (last < prompts.size()
                && last - first < TOGETHER
                && capacity >= prompts.get(last).length - shared + SessionCache.PAGE);
        return last;
    }

    /**
     * Returns the tokens of a prompt. The texts between the control tokens are encoded as one text, as in the example of the model card.
     */
    private int[] prompt(String query, String passage) {
        int[] texts =
                tokenizer.encode("<Instruct>: " + instruction + "\n<Query>: " + query + "\n<Document>: " + passage);
        return Stream.of(prompt.begin, texts, prompt.end)
                .flatMapToInt(Arrays::stream)
                .toArray();
    }

    /** Returns the number of tokens with which all prompts begin. Each prompt has at least one more token, whose logits are needed. */
    private static int sharedTokens(int[] one, List<int[]> prompts) {
        int shared = one.length - 1;
        for (int[] other : prompts) {
            int mismatch = Arrays.mismatch(one, 0, shared, other, 0, Math.min(shared, other.length - 1));
            shared = mismatch < 0 ? shared : mismatch;
        }
        return shared;
    }

    private static void add(SessionState session, int[] tokens, int from, int to) {
        for (int i = from; i < to; i++) {
            session.add(tokens[i]);
        }
        session.seen.endPrompt();
    }

    /** Computes the scores of prompts that begin with the tokens of a session, in common batches. */
    private void score(SessionState base, List<int[]> prompts, String name, double[] scores, int at) {
        List<AnswerTask> tasks = new ArrayList<>();
        try {
            for (int[] tokens : prompts) {
                SessionState session = base.fork();
                tasks.add(new AnswerTask(session, prompt.answers));
                add(session, tokens, base.tokens.size(), tokens.length);
            }
            sessions.run(tasks);
        } finally {
            tasks.forEach(task -> task.session.discard());
        }
        for (int i = 0; i < tasks.size(); i++) {
            scores[at + i] = tasks.get(i).score(name.replace("%", String.valueOf(at + i)));
        }
    }

    /** Frees the keys and values of this reranker and of the rerankers that {@link #withInstruction} made. */
    @Override
    public void close() {
        sessions.close();
    }
}
