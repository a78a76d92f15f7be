/* The limit to measure against: the loops of bayeslib.metropolis, hmc and nuts with the density
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
    const double *a, *b, *c, *d;
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

enum { ROWS = 64 }; /* a block of X stays in the first cache between the two times it is read */

INLINE double logistic_rows(const double *restrict x, double *restrict grad, const data_t *data) {
    long n = data->num_rows, dim = data->dim;
    double s[ROWS], total = 0.0;
    for (long first = 0; first < n; first += ROWS) {
        long num = n - first < ROWS ? n - first : ROWS;
        const double *X = data->a + first * dim, *y = data->b + first;
        for (long i = 0; i < num; i++) {
            double sum = 0.0;
            for (long j = 0; j < dim; j++) sum += X[i * dim + j] * x[j];
            s[i] = sum;
        }
        double product = 1.0;
        for (long i = 0; i < num; i++) {
            double z = s[i], e = exp(-fabs(z));
            product *= 1.0 + e;
            total += y[i] * z - (z > 0.0 ? z : 0.0);
            s[i] = y[i] - (z > 0.0 ? 1.0 : e) / (1.0 + e);
        }
        total -= log(product);
        if (grad)
            for (long i = 0; i < num; i++)
                for (long j = 0; j < dim; j++) grad[j] += X[i * dim + j] * s[i];
    }
    return total;
}

INLINE double logistic_value(const double *restrict x, const data_t *data) {
    double prior = data->d[0];
    for (long j = 0; j < data->dim; j++) prior -= 0.5 * data->c[j] * x[j] * x[j];
    return prior + logistic_rows(x, NULL, data);
}

INLINE double logistic_fused(const double *restrict x, double *restrict grad, const data_t *data) {
    double prior = data->d[0];
    for (long j = 0; j < data->dim; j++) {
        grad[j] = -data->c[j] * x[j];
        prior += 0.5 * grad[j] * x[j];
    }
    return prior + logistic_rows(x, grad, data);
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
LOOPS(logistic)

typedef double fused_t(const double *restrict, double *restrict, const data_t *);

enum { DEEPEST = 10, WIDEST = 128 };
typedef struct {
    double q[WIDEST], p[WIDEST], force[WIDEST];
} end_t;
typedef struct {
    double first[WIDEST], before[WIDEST], near[WIDEST];
} slot_t;

INLINE bool turns(const slot_t *row, const double *last, const double *total, long dim) {
    double whole_first = 0.0, whole_last = 0.0;
    double left_first = 0.0, left_last = 0.0, right_first = 0.0, right_last = 0.0;
    for (long i = 0; i < dim; i++) {
        double between = row[1].before[i], left = between - row->before[i];
        double right = total[i] - between, next = row[1].first[i], near = row[1].near[i];
        whole_first += (left + right) * row->first[i];
        whole_last += (left + right) * last[i];
        left_first += (left + next) * row->first[i];
        left_last += (left + next) * next;
        right_first += (right + near) * near;
        right_last += (right + near) * last[i];
    }
    return whole_first <= 0.0 || whole_last <= 0.0 || left_first <= 0.0 || left_last <= 0.0 ||
           right_first <= 0.0 || right_last <= 0.0;
}

INLINE bool pair_turns(const slot_t *row, const double *last, long dim) {
    double start = 0.0, both = 0.0, end = 0.0;
    for (long i = 0; i < dim; i++) {
        start += row->first[i] * row->first[i];
        both += row->first[i] * last[i];
        end += last[i] * last[i];
    }
    return start + both <= 0.0 || end + both <= 0.0;
}

/* Momenta are whitened by the root of the diagonal metric. */
INLINE void nuts(fused_t *fused, const data_t *data, bitgen_t *rng, const double *start,
                 const double *root, double step_size, long n, double *values, double *numbers,
                 int64_t *whole, bool *flags) {
    long dim = data->dim;
    end_t ends[2];
    slot_t slots[DEEPEST + 2];
    double x[WIDEST], g[WIDEST], best[WIDEST], best_g[WIDEST], slope[WIDEST], total[WIDEST];
    memcpy(x, start, 8 * dim);
    double lp = fused(x, g, data);
    for (long t = 0; t < n; t++) {
        double kin = 0.0;
        for (long i = 0; i < dim; i++) {
            double z = random_standard_normal(rng);
            kin += 0.5 * z * z;
            ends[0].q[i] = ends[1].q[i] = x[i];
            ends[0].p[i] = ends[1].p[i] = total[i] = z;
            ends[0].force[i] = ends[1].force[i] = root[i] * g[i];
            slots[0].before[i] = 0.0;
        }
        double initial = kin - lp, energy = initial, weight = 1.0, shift = 0.0, rates = 0.0;
        long depth = 0, steps = 0;
        bool turned = false, diverged = false;
        while (depth < DEEPEST && !turned && !diverged) {
            bool forward = rng->next_double(rng->state) < 0.5;
            end_t *end = &ends[forward];
            double step = forward ? step_size : -step_size;
            memcpy(slots[0].first, ends[!forward].p, 8 * dim);
            double new_weight = 0.0, new_shift = shift, new_lp = lp, new_energy = energy;
            slot_t *row = slots + 1;
            for (long leaf = 0; leaf < 1L << depth; leaf++) {
                bool opens = (leaf & 1) == 0;
                if (opens) {
                    memcpy(row->before, total, 8 * dim);
                    memcpy(row->near, end->p, 8 * dim);
                }
                for (long i = 0; i < dim; i++) {
                    end->p[i] += 0.5 * step * end->force[i];
                    end->q[i] += step * root[i] * end->p[i];
                }
                double value = fused(end->q, slope, data);
                kin = 0.0;
                for (long i = 0; i < dim; i++) {
                    end->force[i] = root[i] * slope[i];
                    end->p[i] += 0.5 * step * end->force[i];
                    kin += 0.5 * end->p[i] * end->p[i];
                    total[i] += end->p[i];
                }
                steps++;
                double gain = initial - (kin - value);
                if (!(gain >= -1000.0)) {
                    diverged = true;
                    break;
                }
                if (gain > new_shift + 50.0) {
                    new_weight *= exp(new_shift - gain);
                    new_shift = gain;
                }
                double leaf_weight = exp(gain - new_shift);
                rates += fmin(1.0, new_shift == 0.0 ? leaf_weight : exp(fmin(gain, 0.0)));
                new_weight += leaf_weight;
                if (leaf == 0 || rng->next_double(rng->state) * new_weight < leaf_weight) {
                    new_lp = value, new_energy = kin - value;
                    memcpy(best, end->q, 8 * dim);
                    memcpy(best_g, slope, 8 * dim);
                }
                if (opens) {
                    memcpy(row->first, end->p, 8 * dim);
                    continue;
                }
                turned = pair_turns(row, end->p, dim);
                for (long rest = leaf >> 1; !turned && rest & 1; rest >>= 1)
                    turned = turns(--row, end->p, total, dim);
                if (turned) break;
                row++;
            }
            if (turned || diverged) break;
            depth++;
            if (new_shift > shift) {
                weight *= exp(shift - new_shift);
                shift = new_shift;
            }
            if (rng->next_double(rng->state) * weight < new_weight) {
                lp = new_lp, energy = new_energy;
                memcpy(x, best, 8 * dim);
                memcpy(g, best_g, 8 * dim);
            }
            weight += new_weight;
            turned = turns(slots, end->p, total, dim);
        }
        memcpy(values + t * dim, x, 8 * dim);
        numbers[t] = lp, numbers[n + t] = rates / steps;
        numbers[2 * n + t] = energy, numbers[3 * n + t] = step_size;
        whole[t] = depth, whole[n + t] = steps;
        flags[t] = diverged, flags[n + t] = !diverged && !turned;
    }
}

#define TREE(NAME)                                                                               \
    void nuts_##NAME(const data_t *data, bitgen_t *rng, const double *start, const double *root, \
                     double step_size, long n, double *values, double *numbers, int64_t *whole,  \
                     bool *flags) {                                                              \
        nuts(NAME##_fused, data, rng, start, root, step_size, n, values, numbers, whole, flags); \
    }

TREE(gaussian)
TREE(funnel)
TREE(schools)
TREE(logistic)

/* Sweeps of the Ising model: a lattice with a border, probabilities from a table of nine. */
INLINE void draw_row(signed char *lattice, long rows, long cols, bitgen_t *rng,
                     const double *table, const double *odds, long r, long first, long step) {
    long width = cols + 2;
    signed char *row = lattice + r * width;
    for (long c = first; c <= cols; c += step) {
        int total = row[c - width] + row[c + width] + row[c - 1] + row[c + 1];
        double u = rng->next_double(rng->state);
        bool up;
        if (odds) {
            double ratio = table[total + 4] * odds[(r - 1) * cols + c - 1];
            up = u * (1.0 + ratio) < ratio;
        } else
            up = u < table[total + 4];
        row[c] = 2 * up - 1;
        if (c == 1) row[cols + 1] = row[1];
    }
    row[0] = row[cols];
    if (r == 1) memcpy(lattice + (rows + 1) * width + 1, row + 1, cols);
    if (r == rows) memcpy(lattice + 1, row + 1, cols);
}

INLINE void sweeps(signed char *lattice, long rows, long cols, bitgen_t *rng, long n, long step,
                   const double *table, const double *odds, const double *field, double coupling,
                   long *sums, double *draws) {
    long width = cols + 2;
    for (long t = 0; t < n; t++) {
        for (long colour = 0; colour < step; colour++)
            for (long r = 1; r <= rows; r++)
                draw_row(lattice, rows, cols, rng, table, odds, r,
                         step == 2 ? 1 + (r - 1 + colour) % 2 : 1, step);
        long bonds = 0, spins = 0;
        double along = 0.0;
        for (long r = 1; r <= rows; r++) {
            const signed char *row = lattice + r * width;
            for (long c = 1; c <= cols; c++) {
                long spin = row[c];
                bonds += spin * (row[c + 1] + row[c + width]);
                spins += spin;
                sums[(r - 1) * cols + c - 1] += spin;
            }
            if (field)
                for (long c = 1; c <= cols; c++) along += field[(r - 1) * cols + c - 1] * row[c];
        }
        draws[2 * t] = -(coupling * bonds + along) / (rows * cols);
        draws[2 * t + 1] = (double)spins / (rows * cols);
    }
}

void ising(signed char *lattice, long rows, long cols, bitgen_t *rng, long n, long step,
           const double *table, const double *odds, const double *field, double coupling,
           long *sums, double *draws) {
    if (odds)
        sweeps(lattice, rows, cols, rng, n, step, table, odds, field, coupling, sums, draws);
    else
        sweeps(lattice, rows, cols, rng, n, step, table, NULL, NULL, coupling, sums, draws);
}
