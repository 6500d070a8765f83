package io.multihead.internal.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of a filter, a test, a function or a method.
 *
 * @param name the name of the filter, test, function or method
 * @param parameters the names in their order
 * @param required the number of required parameters
 * @param open whether more arguments may follow, with any names
 */
record Signature(String name, List<String> parameters, int required, boolean open) {
    static final Map<String, Signature> FILTERS = table(
            "abs",
            "capitalize",
            "count",
            "d(default_value?,boolean?)",
            "default(default_value?,boolean?)",
            "dictsort(case_sensitive?,by?,reverse?)",
            "first",
            "float(default?)",
            "indent(width?,first?,blank?)",
            "int(default?)",
            "items",
            "join(d?,attribute?)",
            "last",
            "length",
            "list",
            "lower",
            "map(...)",
            "max",
            "min",
            "reject(...)",
            "rejectattr(attribute,...)",
            "replace(old,new,count?)",
            "reverse",
            "round(precision?,method?)",
            "safe",
            "select(...)",
            "selectattr(attribute,...)",
            "sort(reverse?,case_sensitive?,attribute?)",
            "string",
            "sum(attribute?,start?)",
            "title",
            "tojson(ensure_ascii?,indent?,separators?,sort_keys?)",
            "trim(chars?)",
            "unique(case_sensitive?,attribute?)",
            "upper");

    static final Map<String, Signature> TESTS = table(
            "boolean",
            "callable",
            "defined",
            "divisibleby(num)",
            "eq(other)",
            "equalto(other)",
            "even",
            "false",
            "float",
            "ge(other)",
            "greaterthan(other)",
            "gt(other)",
            "in(seq)",
            "integer",
            "iterable",
            "le(other)",
            "lessthan(other)",
            "lower",
            "lt(other)",
            "mapping",
            "ne(other)",
            "none",
            "number",
            "odd",
            "sequence",
            "string",
            "true",
            "undefined",
            "upper");

    /** The names of operators, which are also tests. */
    static final Map<String, String> OPERATORS =
            Map.of("==", "eq", "!=", "ne", "<", "lt", "<=", "le", ">", "gt", ">=", "ge");

    static final Map<String, Signature> FUNCTIONS = table(
            "dict(...)",
            "namespace(...)",
            "raise_exception(message)",
            "range(start,stop?,step?)",
            "strftime_now(format)");

    static final Map<String, Signature> METHODS = table(
            "capitalize",
            "copy",
            "count(sub)",
            "endswith(suffix)",
            "find(sub)",
            "get(key,default?)",
            "index(value)",
            "isalnum",
            "isalpha",
            "isdigit",
            "isspace",
            "items",
            "join(iterable)",
            "keys",
            "lower",
            "lstrip(chars?)",
            "removeprefix(prefix)",
            "removesuffix(suffix)",
            "replace(old,new,count?)",
            "rsplit(sep?,maxsplit?)",
            "rstrip(chars?)",
            "split(sep?,maxsplit?)",
            "splitlines(keepends?)",
            "startswith(prefix)",
            "strip(chars?)",
            "title",
            "upper",
            "values");

    private static Map<String, Signature> table(String... all) {
        Map<String, Signature> table = new HashMap<>();
        for (String each : all) {
            int open = each.indexOf('(');
            String name = open < 0 ? each : each.substring(0, open);
            List<String> parameters = open < 0
                    ? List.of()
                    : Arrays.asList(each.substring(open + 1, each.length() - 1).split(","));
            boolean more = parameters.contains("...");
            List<String> names = new ArrayList<>();
            int required = 0;
            for (String parameter : parameters) {
                if (!parameter.equals("...")) {
                    required += parameter.endsWith("?") ? 0 : 1;
                    names.add(parameter.replace("?", ""));
                }
            }
            table.put(name, new Signature(name, List.copyOf(names), required, more));
        }
        return Map.copyOf(table);
    }

    /** Returns the fault of arguments, or null. */
    @Nullable
    String complaint(int positional, Iterable<String> named) {
        int given = positional;
        for (String each : named) {
            int index = parameters.indexOf(each);
            if (index < positional && !open) {
                return name + " with an argument " + each + "; expected " + described();
            }
            given++;
        }
        boolean many = given > parameters.size() && !open;
        return many || given < required ? name + " with " + given + " arguments; expected " + described() : null;
    }

    private String described() {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < parameters.size(); i++) {
            all.add(parameters.get(i) + (i < required ? "" : "?"));
        }
        return all.isEmpty() ? "none" : String.join(", ", all);
    }

    /** Returns arguments in the order of the parameters, {@link Special#ABSENT} for missing ones. */
    List<Object> bind(List<Object> positional, Map<String, Object> named) {
        String complaint = complaint(positional.size(), named.keySet());
        if (complaint != null) {
            throw new Fault(complaint);
        }
        List<Object> bound = new ArrayList<>(positional);
        for (int i = positional.size(); i < parameters.size(); i++) {
            bound.add(named.getOrDefault(parameters.get(i), Special.ABSENT));
        }
        return bound;
    }
}
