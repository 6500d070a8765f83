package io.multihead.house.bad.gemm;

/** Has thirteen variables. Constants do not count. */
class Crowded {
    static int shared;
    final int constant = 0;
    int a;
    int b;
    int c;
    int d;
    int e;
    int f;
    int g;
    int h;
    int i;
    int j;
    int k;
    int l;
    int m;
}
