package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/**
 * The most distinctive heads of a survey, which are chosen by measurements only. The first heads are the head with the
 * lowest entropy, the head with the highest entropy and, among the remaining heads, the head that differs most from all
 * others. Then follows, for each pattern, the head with the largest share of its weight on the pattern, in the order of
 * the ratio to chance, then the second head of each pattern, and so on. A head is chosen once. A share below
 * {@link #LEAST} is ignored.
 */
final class HeadChoice {
    /** The minimum share of a head's weight that counts as attention to a pattern. */
    static final double LEAST = 0.15;

    private final HeadSurvey survey;
    private final Map<Integer, String> measured = new LinkedHashMap<>();

    private HeadChoice(HeadSurvey survey) {
        this.survey = survey;
    }

    /** Returns the measurements of each chosen head, in the order of the layers. */
    static Map<Integer, String> of(HeadSurvey survey, int most) {
        HeadChoice choice = new HeadChoice(survey);
        choice.extremes();
        choice.patterns(most);
        Map<Integer, String> sorted = new LinkedHashMap<>();
        choice.measured.keySet().stream()
                .sorted()
                .limit(most)
                .forEach(head -> sorted.put(head, choice.measured.get(head)));
        return sorted;
    }

    private void extremes() {
        int sharpest = best(head -> -survey.entropy(head));
        measured.put(sharpest, format("lowest entropy, %.2f bits%s", survey.entropy(sharpest), strongest(sharpest)));
        int flattest = best(survey::entropy);
        measured.putIfAbsent(
                flattest, format("highest entropy, %.2f bits%s", survey.entropy(flattest), strongest(flattest)));
        IntToDoubleFunction likeness = head -> survey.likeness(head, 0, survey.heads());
        int unlike = best(head -> measured.containsKey(head) ? -1 : -likeness.applyAsDouble(head));
        measured.putIfAbsent(
                unlike, format("mean cosine %.2f to the others%s", likeness.applyAsDouble(unlike), strongest(unlike)));
    }

    /** Returns the text of the pattern with the largest share, if the share is large enough. */
    private String strongest(int head) {
        Pattern pattern = Arrays.stream(Pattern.values())
                .max(Comparator.comparingDouble(p -> survey.share(head, p)))
                .orElseThrow();
        double share = survey.share(head, pattern);
        return share < LEAST ? "" : format("; %.2f of its weight on %s", share, pattern.target);
    }

    private void patterns(int most) {
        for (boolean found = true; found && measured.size() < most; ) {
            found = false;
            for (Pattern pattern : byRatio()) {
                int head = best(candidate -> measured.containsKey(candidate) ? -1 : survey.share(candidate, pattern));
                double share = survey.share(head, pattern);
                if (measured.size() < most && !measured.containsKey(head) && share >= LEAST) {
                    measured.put(head, format("%.2f of its weight on %s", share, pattern.target));
                    found = true;
                }
            }
        }
    }

    /** Returns the patterns in descending order of the largest ratio of a head's share to chance. */
    private List<Pattern> byRatio() {
        List<Pattern> patterns = new ArrayList<>(List.of(Pattern.values()));
        patterns.removeIf(pattern -> survey.chance(pattern) == 0);
        patterns.sort(Comparator.comparingDouble((Pattern pattern) -> {
                    int head = best(candidate -> survey.share(candidate, pattern));
                    return survey.share(head, pattern) / survey.chance(pattern);
                })
                .reversed());
        return patterns;
    }

    private int best(IntToDoubleFunction value) {
        return Values.largest(survey.heads(), value);
    }
}
