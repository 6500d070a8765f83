package io.multihead.house.bad.gemm;

import static io.multihead.house.bad.gemm.Constants.SIZE;

/** Depends on each of the classes below, which use constants of this class that the compiler inlines. */
class Constants {
    static final int SIZE = 3;
    static final String NAME = "unused";

    private Constants() {}

    static int all() {
        return Computes.twice()
                + Switches.find(SIZE)
                + Annotates.value()
                + Joins.text(SIZE).length()
                + Imports.size()
                + Qualifies.size()
                + Talks.nothing();
    }
}

class Computes {
    private Computes() {}

    static int twice() {
        return 2 * Constants.SIZE;
    }
}

class Switches {
    private Switches() {}

    static int find(int size) {
        return switch (size) {
            case Constants.SIZE -> 1;
            default -> 0;
        };
    }
}

class Annotates {
    private Annotates() {}

    @SuppressWarnings(Constants.NAME)
    static int value() {
        return 1;
    }
}

class Joins {
    private Joins() {}

    static String text(int number) {
        return number + Constants.NAME;
    }
}

class Imports {
    private Imports() {}

    static int size() {
        return SIZE;
    }
}

class Qualifies {
    private Qualifies() {}

    static int size() {
        return io.multihead.house.bad.gemm.Constants.SIZE;
    }
}
