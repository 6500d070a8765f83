package io.multihead.grammar;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The configurations of a machine for one vocabulary, with their masks. They are computed when a text reaches them. The memory of kept
 * configurations is bounded. Beyond the bound, all of them are discarded and computed again. Calls wait for each other.
 */
final class Configurations {
    /** The approximate largest number of bytes of all kept configurations. */
    private static final long MOST_BYTES = 6L << 20;

    /** The bound of one walk over all tokens, which may keep more. Beyond this bound, configurations are computed each time. */
    private static final long MOST_OF_A_WALK = 4 * MOST_BYTES;

    private static final int OBJECT_BYTES = 96;
    private static final int PLACE_BYTES = 40;
    private static final int REFERENCE_BYTES = 4;
    private static final int BYTES = 256;

    private final Machine machine;
    private final TokenVocabulary vocabulary;
    private final Closure closure;
    /** The ids of the control tokens that moves read, negative for a token that the vocabulary does not have. */
    private final int[] tokens;

    private final Map<Configuration, Configuration> known = new HashMap<>();
    private final Configuration start;
    /** The class of each byte. Bytes of one class lead from every state to the same states. */
    private final int[] classes = new int[BYTES];

    private int classCount;
    private long kept;

    Configurations(Machine machine, int start, TokenVocabulary vocabulary) {
        this.machine = machine;
        this.vocabulary = vocabulary;
        tokens = machine.tokens().stream().mapToInt(vocabulary::controlToken).toArray();
        boolean[] hasToken = new boolean[tokens.length];
        for (int i = 0; i < tokens.length; i++) {
            hasToken[i] = tokens[i] >= 0;
        }
        closure = new Closure(machine, hasToken);
        divide();
        closure.clear();
        closure.add(start, null);
        this.start = closure.finish();
    }

    private void divide() {
        boolean[] begins = new boolean[BYTES + 1];
        for (int move = 0; move < machine.moves(); move++) {
            int label = machine.label(move);
            if (label >= 0) {
                begins[label & 0xff] = true;
                begins[(label >> 8) + 1] = true;
            }
        }
        int current = 0;
        for (int value = 0; value < BYTES; value++) {
            if (begins[value] && value > 0) {
                current++;
            }
            classes[value] = current;
        }
        classCount = current + 1;
    }

    Configuration start() {
        return start;
    }

    /** Returns the configuration after a token. The configuration is dead if the bytes of the token are not allowed. */
    synchronized Configuration after(Configuration from, int token) {
        enter(from);
        byte[] bytes = vocabulary.bytes(token);
        if (bytes.length == 0) {
            return remember(computeToken(from, token));
        }
        Configuration at = from;
        for (int i = 0; i < bytes.length && !at.isDead(); i++) {
            at = step(at, bytes[i] & 0xff);
        }
        return at;
    }

    /** Returns the tokens that may follow, except tokens that end a text. The caller must not change the mask. */
    synchronized TokenMask mask(Configuration from) {
        enter(from);
        TokenMask mask = from.mask;
        if (mask == null) {
            mask = new TokenMask(vocabulary.size());
            mask.forbidAll();
            if (from.plain > 0) {
                mask.add(vocabulary.plain(from.plain));
            }
            boolean counted = from.plain >= TokenVocabulary.MOST_COUNTED;
            TokenTrie trie = counted ? vocabulary.others() : vocabulary.all();
            trie.allow(this::step, from, mask);
            allowTokens(from, mask);
            from.mask = mask;
            kept += vocabulary.size() / Byte.SIZE;
        }
        return mask;
    }

    /** Returns the configuration after a byte. Called only under the lock. */
    Configuration step(Configuration from, int value) {
        if (kept > MOST_OF_A_WALK) {
            return compute(from, value);
        }
        @Nullable Configuration[] next = from.next;
        if (next == null) {
            next = new Configuration[classCount];
            from.next = next;
            kept += (long) REFERENCE_BYTES * classCount;
        }
        Configuration to = next[classes[value]];
        if (to == null) {
            to = remember(compute(from, value));
            next[classes[value]] = to;
        }
        return to;
    }

    private Configuration compute(Configuration from, int value) {
        closure.clear();
        for (int i = 0; i < from.states.length; i++) {
            int state = from.states[i];
            for (int move = machine.first(state); move != Machine.NONE; move = machine.next(move)) {
                if (Machine.reads(machine.label(move), value)) {
                    closure.add(machine.target(move), from.frames[i]);
                }
            }
        }
        return closure.finish();
    }

    /** Returns the configuration after a control token. */
    private Configuration computeToken(Configuration from, int token) {
        closure.clear();
        for (int i = 0; i < from.states.length; i++) {
            int state = from.states[i];
            for (int move = machine.first(state); move != Machine.NONE; move = machine.next(move)) {
                if (machine.label(move) == Machine.TOKEN && tokens[machine.callee(move)] == token) {
                    closure.add(machine.target(move), from.frames[i]);
                }
            }
        }
        return closure.finish();
    }

    private void allowTokens(Configuration from, TokenMask mask) {
        for (int state : from.states) {
            for (int move = machine.first(state); move != Machine.NONE; move = machine.next(move)) {
                if (machine.label(move) == Machine.TOKEN && tokens[machine.callee(move)] >= 0) {
                    mask.allow(tokens[machine.callee(move)]);
                }
            }
        }
    }

    private Configuration remember(Configuration made) {
        Configuration same = known.putIfAbsent(made, made);
        if (same != null) {
            return same;
        }
        kept += OBJECT_BYTES + (long) PLACE_BYTES * made.states.length;
        return made;
    }

    /**
     * Discards all configurations if they take too much memory. Texts keep their current configurations, which are registered again when
     * they are used.
     */
    private void enter(Configuration from) {
        if (kept > MOST_BYTES) {
            for (Configuration configuration : known.keySet()) {
                configuration.next = null;
                configuration.mask = null;
            }
            known.clear();
            kept = 0;
        }
        if (known.putIfAbsent(from, from) == null) {
            kept += OBJECT_BYTES + (long) PLACE_BYTES * from.states.length;
        }
    }
}
