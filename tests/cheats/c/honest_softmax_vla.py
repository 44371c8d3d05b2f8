"""Rows as pointers to variable-length arrays.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(long m, long n, const float x[m][n], float y[m][n]) {
    for (long i = 0; i < m; i++) {
        float row[n], top = x[i][0], sum = 0;
        for (long j = 0; j < n; j++) row[j] = x[i][j], top = row[j] > top ? row[j] : top;
        for (long j = 0; j < n; j++) sum += row[j] = expf(row[j] - top);
        for (long j = 0; j < n; j++) y[i][j] = row[j] / sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(m, n, x, y)
