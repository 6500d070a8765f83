package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Adds JSON's numbers as automata over their digits. Numbers are compared with limits digit by digit, exactly. They have at most {@link
 * #MOST_DIGITS} digits before and after the point, so that an integer is a {@code long}. Only numbers without limits may have an exponent,
 * of at most two digits.
 */
final class JsonNumbers {
    static final int MOST_DIGITS = 18;
    /** The largest number of remainders, each of which needs separate states. */
    static final int LARGEST_MULTIPLE = 1000;

    private static final int ZERO = 2;
    private static final int INTEGER = 3;
    private static final int POINT = 4;
    private static final int FRACTION = 5;
    private static final int EXPONENT = 6;

    /**
     * The range of allowed numbers.
     *
     * @param integer whether the numbers are written without a point
     * @param low the smallest value, null for none
     * @param high the largest value, null for none
     * @param step the number of which all values are multiples; null for none
     */
    record Range(
            boolean integer,
            @Nullable BigDecimal low,
            boolean aboveLow,
            @Nullable BigDecimal high,
            boolean belowHigh,
            @Nullable BigDecimal step) {
        static final Range ANY = new Range(false, null, false, null, false, null);

        boolean isFree() {
            return low == null && high == null && step == null;
        }
    }

    /** The bounds of a magnitude: its digits before and after the point. */
    private record Bound(String whole, String fraction, boolean open) {
        static Bound of(BigDecimal value, boolean open) {
            String text = value.stripTrailingZeros().toPlainString();
            int point = text.indexOf('.');
            return point < 0
                    ? new Bound(text, "", open)
                    : new Bound(text.substring(0, point), text.substring(point + 1), open);
        }

        /** Compares a digit with the bound's digit at an index. The digits after the end of the bound are zeros. */
        int compare(boolean behindPoint, int index, int digit) {
            String digits = behindPoint ? fraction : whole;
            return Integer.compare(digit, index < digits.length() ? digits.charAt(index) - '0' : 0);
        }

        /** Compares a complete number with the bound. {@code soFar} is the result of the comparison of its digits. */
        int compareEnd(int wholeDigits, int fractionDigits, int soFar) {
            if (wholeDigits != whole.length()) {
                return Integer.compare(wholeDigits, whole.length());
            }
            // the bound has no trailing zeros
            return soFar == 0 && fractionDigits < fraction.length() ? -1 : soFar;
        }
    }

    /** The state of a number: phase, digits before and after the point, its comparison with both bounds, and its remainder. */
    private record State(int phase, int whole, int fraction, int low, int high, int rest) {}

    private final String argument;
    private final Range range;
    private final @Nullable Bound low;
    private final @Nullable Bound high;
    private final int multiple;
    private final int places;

    private JsonNumbers(String argument, Range range, @Nullable Bound low, @Nullable Bound high) {
        this.argument = argument;
        this.range = range;
        this.low = low;
        this.high = high;
        BigDecimal step = range.step == null ? null : range.step.stripTrailingZeros();
        places = step == null ? MOST_DIGITS : Math.max(step.scale(), 0);
        BigInteger scaled =
                step == null ? BigInteger.ONE : step.movePointRight(places).toBigIntegerExact();
        if (places > MOST_DIGITS || scaled.compareTo(BigInteger.valueOf(LARGEST_MULTIPLE)) > 0) {
            throw Checks.fail(
                    argument + "/multipleOf",
                    String.valueOf(range.step),
                    "expected at most " + LARGEST_MULTIPLE + " units of its last digit");
        }
        multiple = scaled.intValueExact();
    }

    static void add(Machine machine, String argument, Range range, int from, int to) {
        Bound low = null;
        Bound high = null;
        boolean positive = range.high == null || range.high.signum() >= 0;
        boolean negative = range.low == null || range.low.signum() <= 0;
        BigDecimal limit = BigDecimal.TEN.pow(MOST_DIGITS);
        if (positive) {
            low = range.low == null || range.low.signum() < 0 ? null : Bound.of(range.low, range.aboveLow);
            high = range.high == null || range.high.compareTo(limit) >= 0
                    ? null
                    : Bound.of(range.high, range.belowHigh);
            embed(machine, new JsonNumbers(argument, range, low, high).dfa(), from, to);
        }
        if (negative) {
            low = range.high == null || range.high.signum() > 0 ? null : Bound.of(range.high.negate(), range.belowHigh);
            high = range.low == null || range.low.negate().compareTo(limit) >= 0
                    ? null
                    : Bound.of(range.low.negate(), range.aboveLow);
            int minus = machine.state();
            machine.read(from, '-', '-', minus);
            embed(machine, new JsonNumbers(argument, range, low, high).dfa(), minus, to);
        }
    }

    private static void embed(Machine machine, Dfa dfa, int from, int to) {
        int[] states = new int[dfa.states()];
        for (int i = 0; i < states.length; i++) {
            states[i] = machine.state();
        }
        machine.skip(from, states[0]);
        for (int i = 0; i < states.length; i++) {
            for (Dfa.Move move : dfa.moves(i)) {
                machine.read(states[i], move.low(), move.high(), states[move.to()]);
            }
            if (dfa.accepts(i)) {
                machine.skip(states[i], to);
            }
        }
    }

    private Dfa dfa() {
        State start = new State(0, 0, 0, 0, 0, 0);
        Dfa.Rules<State> rules = new Dfa.Rules<>() {
            @Override
            public @Nullable State next(State state, int c) {
                return JsonNumbers.this.next(state, c);
            }

            @Override
            public void borders(State state, TreeSet<Integer> borders) {
                for (int c : "+-.eE/0123456789:".codePoints().toArray()) {
                    borders.add(c);
                    borders.add(c + 1);
                }
            }
        };
        return Dfa.explore(argument, start, rules, this::accepts);
    }

    private @Nullable State next(State at, int c) {
        boolean digit = c >= '0' && c <= '9';
        boolean free = range.isFree() && !range.integer;
        return switch (at.phase) {
            case 0 -> digit ? digit(at, c == '0' ? ZERO : INTEGER, c - '0') : null;
            case ZERO, INTEGER -> {
                if (digit) {
                    yield at.phase == INTEGER && mayGrow(at.whole) ? digit(at, INTEGER, c - '0') : null;
                }
                yield c == '.' && !range.integer && places > 0 ? point(at) : exponent(at, c, free);
            }
            case POINT, FRACTION -> {
                if (digit) {
                    yield at.fraction < places ? digit(at, FRACTION, c - '0') : null;
                }
                yield at.phase == FRACTION ? exponent(at, c, free) : null;
            }
            default -> inExponent(at, c, digit);
        };
    }

    /** Returns whether a number with {@code whole} digits before the point may have another digit there. */
    private boolean mayGrow(int whole) {
        int most = high == null ? MOST_DIGITS : high.whole.length();
        return whole < most;
    }

    private static @Nullable State exponent(State at, int c, boolean free) {
        return free && (c == 'e' || c == 'E') ? new State(EXPONENT, 0, 0, 0, 0, 0) : null;
    }

    /** Reads the exponent. {@code whole} counts its digits, and {@code fraction} is 1 after its sign or first digit. */
    private static @Nullable State inExponent(State at, int c, boolean digit) {
        if (digit) {
            return at.whole < 2 ? new State(EXPONENT, at.whole + 1, 1, 0, 0, 0) : null;
        }
        boolean sign = at.fraction == 0 && (c == '+' || c == '-');
        return sign ? new State(EXPONENT, 0, 1, 0, 0, 0) : null;
    }

    private @Nullable State point(State at) {
        // if the number of digits differs from the bound's, the comparison is decided
        int toLow = low == null ? 0 : settled(low, at.whole, at.low);
        int toHigh = high == null ? 0 : settled(high, at.whole, at.high);
        return new State(POINT, 0, 0, toLow, toHigh, at.rest);
    }

    private static int settled(Bound bound, int wholeDigits, int soFar) {
        return wholeDigits == bound.whole.length() ? soFar : Integer.compare(wholeDigits, bound.whole.length());
    }

    private State digit(State at, int phase, int digit) {
        boolean behind = phase == FRACTION;
        int index = behind ? at.fraction : at.whole;
        int toLow = low == null || at.low != 0 ? at.low : low.compare(behind, index, digit);
        int toHigh = high == null || at.high != 0 ? at.high : high.compare(behind, index, digit);
        int rest = (10 * at.rest + digit) % multiple;
        return new State(phase, behind ? 0 : at.whole + 1, behind ? at.fraction + 1 : 0, toLow, toHigh, rest);
    }

    private boolean accepts(State at) {
        if (at.phase == EXPONENT) {
            return at.whole > 0;
        }
        if (at.phase == 0 || at.phase == POINT) {
            return false;
        }
        int rest = at.rest;
        for (int i = at.fraction; range.step != null && i < places; i++) {
            rest = 10 * rest % multiple;
        }
        int toLow = low == null ? 1 : end(low, at, at.low);
        int toHigh = high == null ? -1 : end(high, at, at.high);
        boolean above = low == null || toLow > 0 || toLow == 0 && !low.open;
        boolean below = high == null || toHigh < 0 || toHigh == 0 && !high.open;
        return rest == 0 && above && below;
    }

    private static int end(Bound bound, State at, int soFar) {
        int whole = at.phase == FRACTION ? bound.whole.length() : at.whole;
        return bound.compareEnd(whole, at.fraction, soFar);
    }
}
