/* The limit to measure against: the loops of bayeslib.metropolis and bayeslib.hmc with the density
 * inlined, drawing the same stream from numpy's PCG64 and storing the same results. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "numpy/random/bitgen.h"
#include "numpy/random/distributions.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    long dim, num_rows;
    const double *a, *b, *c;
} data_t;

INLINE double gaussian_value(const double *restrict x, const data_t *data) {
    double total = 0.0;
    for (long i = 0; i < data->dim; i++)
        for (long j = 0; j < data->dim; j++)
            total += (x[i] - data->a[i]) * data->b[i * data->dim + j] * (x[j] - data->a[j]);
    return data->c[0] - 0.5 * total;
}

INLINE double gaussian_fused(const double *restrict x, double *restrict grad, const data_t *data) {
    double total = 0.0;
    for (long i = 0; i < data->dim; i++) {
        double row = 0.0;
        for (long j = 0; j < data->dim; j++)
            row += data->b[i * data->dim + j] * (x[j] - data->a[j]);
        grad[i] = -row;
        total += row * (x[i] - data->a[i]);
    }
    return data->c[0] - 0.5 * total;
}

INLINE double funnel_value(const double *restrict x, const data_t *data) {
    double v = x[0], shrink = exp(-v), log_2pi = log(2.0 * M_PI);
    double value = -v * v / 18.0 - log(3.0) - 0.5 * log_2pi;
    for (long i = 1; i < data->dim; i++) value -= 0.5 * (x[i] * x[i] * shrink + v + log_2pi);
    return value;
}

INLINE double funnel_fused(const double *restrict x, double *restrict grad, const data_t *data) {
    double v = x[0], count = data->dim - 1.0, shrink = exp(-v), total = 0.0;
    for (long i = 1; i < data->dim; i++) {
        total += x[i] * x[i];
        grad[i] = -x[i] * shrink;
    }
    total *= shrink;
    grad[0] = -v / 9.0 + 0.5 * (total - count);
    return -v * v / 18.0 - log(3.0) - 0.5 * (total + count * v + (count + 1.0) * log(2.0 * M_PI));
}

INLINE double schools_value(const double *restrict x, const data_t *data) {
    double mu = x[0], tau = exp(x[1]), total = mu * mu / 25.0;
    for (long j = 0; j < data->num_rows; j++) {
        double eta = x[2 + j], residual = data->a[j] - mu - tau * eta;
        total += eta * eta + data->b[j] * residual * residual;
    }
    return data->c[0] - 0.5 * total - log1p(tau * tau / 25.0) + x[1];
}

INLINE double schools_fused(const double *restrict x, double *restrict grad, const data_t *data) {
    double mu = x[0], tau = exp(x[1]), spread = 1.0 + tau * tau / 25.0;
    double total = 0.0, slope_mu = 0.0, slope_tau = 0.0;
    for (long j = 0; j < data->num_rows; j++) {
        double eta = x[2 + j], residual = data->a[j] - mu - tau * eta;
        double pull = data->b[j] * residual;
        total += eta * eta + pull * residual;
        grad[2 + j] = tau * pull - eta;
        slope_mu += pull;
        slope_tau += pull * eta;
    }
    grad[0] = slope_mu - mu / 25.0;
    grad[1] = slope_tau * tau + 2.0 / spread - 1.0;
    return data->c[0] - 0.5 * (total + mu * mu / 25.0) - log(spread) + x[1];
}

INLINE double kinetic(const double *p, const double *metric, long dim) {
    double total = 0.0;
    for (long i = 0; i < dim; i++) total += metric[i] * p[i] * p[i];
    return 0.5 * total;
}

#define LOOPS(NAME)                                                                               \
    void walk_##NAME(const data_t *data, bitgen_t *rng, const double *start, const double *scale, \
                     long n, double *values, double *logdensity, double *rates, bool *accepted) { \
        long dim = data->dim;                                                                     \
        double *x = malloc(8 * dim), *y = malloc(8 * dim);                                        \
        memcpy(x, start, 8 * dim);                                                                \
        double lp = NAME##_value(x, data);                                                        \
        for (long t = 0; t < n; t++) {                                                            \
            for (long i = 0; i < dim; i++) y[i] = x[i] + scale[i] * random_standard_normal(rng);  \
            double uniform = rng->next_double(rng->state);                                        \
            double new = NAME##_value(y, data);                                                   \
            double rate = exp(fmin(new - lp, 0.0));                                               \
            bool accept = uniform < rate;                                                         \
            if (accept) {                                                                         \
                lp = new;                                                                         \
                for (long i = 0; i < dim; i++) x[i] = y[i];                                       \
            }                                                                                     \
            for (long i = 0; i < dim; i++) values[t * dim + i] = x[i];                            \
            logdensity[t] = lp;                                                                   \
            rates[t] = rate;                                                                      \
            accepted[t] = accept;                                                                 \
        }                                                                                         \
        free(x), free(y);                                                                         \
    }                                                                                             \
    void hmc_##NAME(const data_t *data, bitgen_t *rng, const double *start, const double *metric, \
                    double step_size, long num_steps, long n, double *values, double *numbers,    \
                    int64_t *taken, bool *accepted, bool *diverging) {                            \
        long dim = data->dim;                                                                     \
        double *x = malloc(8 * dim), *g = malloc(8 * dim), *root = malloc(8 * dim);               \
        double *q = malloc(8 * dim), *p = malloc(8 * dim), *h = malloc(8 * dim);                  \
        for (long i = 0; i < dim; i++) root[i] = 1.0 / sqrt(metric[i]);                           \
        memcpy(x, start, 8 * dim);                                                                \
        double lp = NAME##_fused(x, g, data);                                                     \
        for (long t = 0; t < n; t++) {                                                            \
            for (long i = 0; i < dim; i++) {                                                      \
                p[i] = random_standard_normal(rng) * root[i];                                     \
                q[i] = x[i];                                                                      \
                h[i] = g[i];                                                                      \
            }                                                                                     \
            double before = kinetic(p, metric, dim) - lp, new = lp, kick = 0.5 * step_size;       \
            for (long step = 0; step < num_steps; step++) {                                       \
                for (long i = 0; i < dim; i++) {                                                  \
                    p[i] += kick * h[i];                                                          \
                    q[i] += step_size * metric[i] * p[i];                                         \
                }                                                                                 \
                kick = step_size;                                                                 \
                new = NAME##_fused(q, h, data);                                                   \
            }                                                                                     \
            for (long i = 0; i < dim; i++) p[i] += 0.5 * step_size * h[i];                        \
            double uniform = rng->next_double(rng->state);                                        \
            double after = kinetic(p, metric, dim) - new, error = after - before;                 \
            double rate = exp(fmin(-error, 0.0));                                                 \
            bool accept = uniform < rate;                                                         \
            if (accept) {                                                                         \
                lp = new;                                                                         \
                memcpy(x, q, 8 * dim);                                                            \
                memcpy(g, h, 8 * dim);                                                            \
            }                                                                                     \
            for (long i = 0; i < dim; i++) values[t * dim + i] = x[i];                            \
            numbers[t] = lp, numbers[n + t] = rate;                                               \
            numbers[2 * n + t] = accept ? after : before;                                         \
            numbers[3 * n + t] = error, numbers[4 * n + t] = step_size;                           \
            taken[t] = num_steps;                                                                 \
            accepted[t] = accept;                                                                 \
            diverging[t] = error > 1000.0;                                                        \
        }                                                                                         \
        free(x), free(g), free(root), free(q), free(p), free(h);                                  \
    }

LOOPS(gaussian)
LOOPS(funnel)
LOOPS(schools)
