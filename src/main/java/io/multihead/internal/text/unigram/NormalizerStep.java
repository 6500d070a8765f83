package io.multihead.internal.text.unigram;

import java.util.List;

/** A step of a normalizer of HuggingFace's crate on text that other steps have already normalized. */
public enum NormalizerStep {
    /** White space at the end is removed. */
    STRIP_RIGHT,
    /** White space at the beginning is removed. */
    STRIP_LEFT,
    /** Several spaces become one. */
    SPACES_TO_SPACE,
    /** Several spaces become U+2581. */
    SPACES_TO_MARK,
    /** Each run of white space becomes one space. */
    WHITE_SPACE_TO_SPACE,
    /** Each ASCII punctuation character is put between spaces. */
    PART_PUNCTUATION;

    /** The 32 characters of Python's {@code string.punctuation}. */
    public static final String PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

    /** Changes the text of a buffer, step by step. */
    static void apply(List<NormalizerStep> steps, UnigramBuffer buffer) {
        for (int i = 0; i < steps.size(); i++) {
            switch (steps.get(i)) {
                case STRIP_RIGHT -> stripRight(buffer);
                case STRIP_LEFT -> stripLeft(buffer);
                case SPACES_TO_SPACE -> joinSpaces(buffer, (byte) ' ');
                case SPACES_TO_MARK -> joinSpaces(buffer, UnigramBuffer.MARK);
                case WHITE_SPACE_TO_SPACE -> joinWhiteSpace(buffer);
                case PART_PUNCTUATION -> partPunctuation(buffer);
            }
        }
    }

    private static void stripRight(UnigramBuffer buffer) {
        while (buffer.end > UnigramBuffer.START) {
            int last = buffer.before(buffer.end);
            if (buffer.spaceLength(last) == 0) {
                return;
            }
            buffer.end = last;
        }
    }

    private static void stripLeft(UnigramBuffer buffer) {
        int at = UnigramBuffer.START;
        while (at < buffer.end && buffer.spaceLength(at) > 0) {
            at += buffer.spaceLength(at);
        }
        int rest = buffer.end - at;
        System.arraycopy(buffer.text, at, buffer.text, UnigramBuffer.START, rest);
        System.arraycopy(buffer.origins, at, buffer.origins, UnigramBuffer.START, rest + 1);
        buffer.end = UnigramBuffer.START + rest;
    }

    private static void joinSpaces(UnigramBuffer buffer, byte joined) {
        byte[] text = buffer.text;
        int[] origins = buffer.origins;
        int size = UnigramBuffer.START;
        for (int at = UnigramBuffer.START; at < buffer.end; ) {
            int next = at + 1;
            while (text[at] == ' ' && next < buffer.end && text[next] == ' ') {
                next++;
            }
            origins[size] = origins[at];
            text[size++] = next > at + 1 ? joined : text[at];
            at = next;
        }
        origins[size] = origins[buffer.end];
        buffer.end = size;
    }

    private static void joinWhiteSpace(UnigramBuffer buffer) {
        byte[] text = buffer.text;
        int[] origins = buffer.origins;
        int size = UnigramBuffer.START;
        for (int at = UnigramBuffer.START; at < buffer.end; ) {
            int start = at;
            int origin = origins[at];
            for (int space = buffer.spaceLength(at); space > 0; ) {
                at += space;
                space = at < buffer.end ? buffer.spaceLength(at) : 0;
            }
            // the space is written after its source was read, since it may be shorter than the source
            if (at > start) {
                origins[size] = origin;
                text[size++] = ' ';
                continue;
            }
            for (int next = at + buffer.length(at); at < next; at++) {
                origins[size] = origins[at];
                text[size++] = text[at];
            }
        }
        origins[size] = origins[buffer.end];
        buffer.end = size;
    }

    private static void partPunctuation(UnigramBuffer buffer) {
        int count = 0;
        for (int at = UnigramBuffer.START; at < buffer.end; at++) {
            count += isPunctuation(buffer.text[at]) ? 1 : 0;
        }
        int from = buffer.end;
        buffer.lengthen(2L * count);
        byte[] text = buffer.text;
        int[] origins = buffer.origins;
        int to = buffer.end;
        // moved from the end on, so that no byte is overwritten before it was moved
        origins[to] = origins[from];
        while (from < to) {
            from--;
            byte c = text[from];
            int origin = origins[from];
            boolean parted = isPunctuation(c);
            for (int i = parted ? 0 : 2; i < 3; i++) {
                to--;
                text[to] = parted && i != 1 ? (byte) ' ' : c;
                origins[to] = origin;
            }
        }
    }

    private static boolean isPunctuation(byte c) {
        return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~';
    }
}
