#include "lib/eval/lapack.h"

#include <charconv>
#include <complex>
#include <optional>

#include "lib/eval/wide_values.h"

namespace hlo {
namespace {

enum class Routine { kPotrf, kTrsm, kGetrf, kGeqrf, kOrgqr };
struct RoutineName {
  std::string_view name;
  Routine routine;
  int operands;
};
constexpr RoutineName kRoutines[] = {{"potrf", Routine::kPotrf, 1}, {"trsm", Routine::kTrsm, 2},
                                     {"getrf", Routine::kGetrf, 1}, {"geqrf", Routine::kGeqrf, 1},
                                     {"orgqr", Routine::kOrgqr, 2}, {"ungqr", Routine::kOrgqr, 2}};

// "lapack_spotrf_ffi" -> potrf: a library, a letter for the type, the routine.
const RoutineName* Find(std::string_view target) {
  for (const std::string_view library : {"lapack_", "blas_"}) {
    if (target.starts_with(library)) target.remove_prefix(library.size());
  }
  if (!target.ends_with("_ffi") || target.find_first_of("sdcz") != 0) return nullptr;
  target.remove_prefix(1);
  target.remove_suffix(4);
  for (const RoutineName& routine : kRoutines) {
    if (routine.name == target) return &routine;
  }
  return nullptr;
}

// `key = 76 : ui8` of a backend_config, as the character.
char AttributeOf(std::string_view config, std::string_view key, char otherwise) {
  for (size_t at = config.find(key); at != std::string_view::npos; at = config.find(key, at + 1)) {
    const std::string_view rest = config.substr(at + key.size());
    const size_t digit = rest.find_first_not_of(" =");
    if (digit == 0 || digit == std::string_view::npos) continue;
    int value = 0;
    const auto read = std::from_chars(rest.data() + digit, rest.data() + rest.size(), value);
    if (read.ec == std::errc()) return static_cast<char>(value);
  }
  return otherwise;
}

double Conj(double x) { return x; }
std::complex<double> Conj(std::complex<double> x) { return std::conj(x); }
double Re(double x) { return x; }
double Re(std::complex<double> x) { return x.real(); }
double Im(double) { return 0; }
double Im(std::complex<double> x) { return x.imag(); }
double Size1(double x) { return std::abs(x); }
double Size1(std::complex<double> x) { return std::abs(x.real()) + std::abs(x.imag()); }
std::complex<double> Scalar(std::complex<double>, double re, double im) { return {re, im}; }
double Scalar(double, double re, double) { return re; }

// A row-major matrix in a batch.
template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns;
  T& operator()(int64_t i, int64_t j) const { return data[i * columns + j]; }
};

// The factor in the chosen triangle; the other one is left as it is. Returns the number (from 1) of
// the first leading minor that is not positive, else 0.
template <class T>
int32_t Potrf(Matrix<T> a, bool lower) {
  const auto at = [&](int64_t i, int64_t j) -> T& { return lower ? a(i, j) : a(j, i); };
  for (int64_t j = 0; j < a.rows; ++j) {
    double pivot = Re(at(j, j));
    for (int64_t k = 0; k < j; ++k) pivot -= std::norm(at(j, k));
    if (!(pivot > 0)) return static_cast<int32_t>(j + 1);
    const double root = std::sqrt(pivot);
    at(j, j) = T(root);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      T value = at(i, j);
      for (int64_t k = 0; k < j; ++k) value -= at(i, k) * Conj(at(j, k));
      at(i, j) = value / root;
    }
  }
  return 0;
}

// Rows are swapped by pivots (from 1). Returns the number of the first zero pivot, else 0.
template <class T>
int32_t Getrf(Matrix<T> a, int32_t* pivots) {
  int32_t info = 0;
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      if (Size1(a(i, j)) > Size1(a(pivot, j))) pivot = i;
    }
    pivots[j] = static_cast<int32_t>(pivot + 1);
    if (a(pivot, j) == T(0)) {
      if (info == 0) info = static_cast<int32_t>(j + 1);
      continue;
    }
    for (int64_t k = 0; k < a.columns && pivot != j; ++k) std::swap(a(j, k), a(pivot, k));
    for (int64_t i = j + 1; i < a.rows; ++i) {
      const T factor = a(i, j) /= a(j, j);
      for (int64_t k = j + 1; k < a.columns; ++k) a(i, k) -= factor * a(j, k);
    }
  }
  return info;
}

// H = I - tau v v^H with v = (1, a(j + 1, j), …), applied to columns [from, to).
template <class T>
void Reflect(Matrix<T> v, int64_t j, T tau, Matrix<T> a, int64_t from, int64_t to) {
  for (int64_t k = from; k < to; ++k) {
    T sum = a(j, k);
    for (int64_t i = j + 1; i < a.rows; ++i) sum += Conj(v(i, j)) * a(i, k);
    sum *= tau;
    a(j, k) -= sum;
    for (int64_t i = j + 1; i < a.rows; ++i) a(i, k) -= v(i, j) * sum;
  }
}

template <class T>
void Geqrf(Matrix<T> a, T* taus) {
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    const T alpha = a(j, j);
    double below = 0;
    for (int64_t i = j + 1; i < a.rows; ++i) below += std::norm(a(i, j));
    taus[j] = T(0);
    if (below == 0 && Im(alpha) == 0) continue;
    const double length = std::sqrt(std::norm(alpha) + below);
    const double beta = Re(alpha) >= 0 ? -length : length;
    taus[j] = Scalar(T(), (beta - Re(alpha)) / beta, -Im(alpha) / beta);
    for (int64_t i = j + 1; i < a.rows; ++i) a(i, j) /= alpha - T(beta);
    a(j, j) = T(beta);
    Reflect(a, j, Conj(taus[j]), a, j + 1, a.columns);
  }
}

// The first columns of H_1 H_2 … H_k.
template <class T>
void Orgqr(Matrix<T> a, const T* taus, int64_t count) {
  std::vector<T> q(static_cast<size_t>(a.rows * a.columns));
  const Matrix<T> result{q.data(), a.rows, a.columns};
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) result(j, j) = T(1);
  for (int64_t j = count; j-- > 0;) Reflect(a, j, taus[j], result, 0, a.columns);
  std::copy(q.begin(), q.end(), a.data);
}

struct TrsmAttributes {
  bool left, lower, unit;
  char transposition;  // 'N', 'T', 'C'
};
// b = op(a)^-1 b, or b op(a)^-1.
template <class T>
void Trsm(Matrix<T> a, Matrix<T> b, const TrsmAttributes& attributes) {
  const bool transposed = attributes.transposition != 'N';
  const auto op = [&](int64_t i, int64_t j) {
    const T value = transposed ? a(j, i) : a(i, j);
    return attributes.transposition == 'C' ? Conj(value) : value;
  };
  const int64_t n = a.rows;
  // x op(a) = b, read by columns of x, runs the other way round.
  const bool is_lower = attributes.lower != transposed;
  const bool forward = is_lower == attributes.left;
  const int64_t lines = attributes.left ? b.columns : b.rows;
  for (int64_t line = 0; line < lines; ++line) {
    const auto x = [&](int64_t i) -> T& { return attributes.left ? b(i, line) : b(line, i); };
    for (int64_t s = 0; s < n; ++s) {
      const int64_t i = forward ? s : n - 1 - s;
      T value = x(i);
      for (int64_t t = 0; t < s; ++t) {
        const int64_t j = forward ? t : n - 1 - t;
        value -= (attributes.left ? op(i, j) : op(j, i)) * x(j);
      }
      x(i) = attributes.unit ? value : value / op(i, i);
    }
  }
}

template <class T>
EvalResult Run(EvalContext& c, Routine routine) {
  const std::string_view config = c.instruction.backend_config();
  const Shape shape = c.instruction.shape();
  const auto result_count = [&](int i) {
    return static_cast<size_t>(shape.element(i).element_count());
  };
  // The matrix that is worked on: the only operand, or trsm's right-hand side.
  const int main = routine == Routine::kTrsm ? 1 : 0;
  std::vector<T> values = ReadAll<T>(c.operand(main));
  const Shape operand = c.operand(main).shape();
  const int rank = operand.rank();
  const int64_t rows = operand.dim(rank - 2), columns = operand.dim(rank - 1);
  const int64_t batches = rows * columns == 0 ? 0 : operand.element_count() / (rows * columns);
  const auto matrix = [&](int64_t batch) {
    return Matrix<T>{values.data() + batch * rows * columns, rows, columns};
  };
  RETURN_IF_ERROR(c.evaluator.Spend(operand.element_count() * std::min(rows, columns)));
  const bool lower = AttributeOf(config, "uplo", 'L') == 'L';
  switch (routine) {
    case Routine::kPotrf: {
      std::vector<int32_t> info(result_count(1));
      for (int64_t b = 0; b < batches; ++b) info[static_cast<size_t>(b)] = Potrf(matrix(b), lower);
      return Literal::Tuple({WriteAll(shape.element(0), values), WriteAll(shape.element(1), info)});
    }
    case Routine::kGetrf: {
      std::vector<int32_t> pivots(result_count(1)), info(result_count(2));
      for (int64_t b = 0; b < batches; ++b)
        info[static_cast<size_t>(b)] =
            Getrf(matrix(b), pivots.data() + b * std::min(rows, columns));
      return Literal::Tuple({WriteAll(shape.element(0), values), WriteAll(shape.element(1), pivots),
                             WriteAll(shape.element(2), info)});
    }
    case Routine::kGeqrf: {
      std::vector<T> taus(result_count(1));
      for (int64_t b = 0; b < batches; ++b)
        Geqrf(matrix(b), taus.data() + b * std::min(rows, columns));
      return Literal::Tuple({WriteAll(shape.element(0), values), WriteAll(shape.element(1), taus)});
    }
    case Routine::kOrgqr: {
      const std::vector<T> taus = ReadAll<T>(c.operand(1));
      const int64_t count = batches == 0 ? 0 : c.operand(1).element_count() / batches;
      for (int64_t b = 0; b < batches; ++b) Orgqr(matrix(b), taus.data() + b * count, count);
      return WriteAll(shape, values);
    }
    case Routine::kTrsm: {
      std::vector<T> triangles = ReadAll<T>(c.operand(0));
      const TrsmAttributes attributes = {AttributeOf(config, "side", 'L') == 'L', lower,
                                         AttributeOf(config, "diag", 'N') == 'U',
                                         AttributeOf(config, "trans_x", 'N')};
      const int64_t n = attributes.left ? rows : columns;
      for (int64_t b = 0; b < batches; ++b)
        Trsm(Matrix<T>{triangles.data() + b * n * n, n, n}, matrix(b), attributes);
      return WriteAll(shape, values);
    }
  }
  return Internal("no such routine");
}

// Whether operands and results are arrays of the routine's form.
bool HasForm(const Instruction& call, const RoutineName& routine) {
  const Shape result = call.shape();
  const int results = routine.routine == Routine::kGetrf ? 3
                      : routine.routine == Routine::kPotrf || routine.routine == Routine::kGeqrf
                          ? 2
                          : 0;
  if (call.operand_count() != routine.operands) return false;
  for (const Instruction* operand : call.operands()) {
    const Shape shape = operand->shape();
    if (!shape.IsArray() || !(IsFloat(shape.element_type()) || IsComplex(shape.element_type())))
      return false;
  }
  const Shape main = call.operand(routine.routine == Routine::kTrsm ? 1 : 0)->shape();
  if (main.rank() < 2) return false;
  const int64_t rows = main.dim(main.rank() - 2), columns = main.dim(main.rank() - 1);
  const int64_t batches = rows * columns == 0 ? 0 : main.element_count() / (rows * columns);
  if (results == 0 ? !result.IsArray() || result.dims() != main.dims()
                   : !result.IsTuple() || result.element_count_of_tuple() != results ||
                         result.element(0).dims() != main.dims())
    return false;
  if (routine.routine == Routine::kPotrf)
    return rows == columns && result.element(1).element_count() == batches &&
           result.element(1).element_type() == ElementType::kS32;
  if (routine.routine == Routine::kGetrf)
    return result.element(1).element_count() == batches * std::min(rows, columns) &&
           result.element(1).element_type() == ElementType::kS32 &&
           result.element(2).element_count() == batches &&
           result.element(2).element_type() == ElementType::kS32;
  if (routine.routine == Routine::kGeqrf)
    return result.element(1).element_count() == batches * std::min(rows, columns);
  if (routine.routine == Routine::kTrsm) {
    const Shape a = call.operand(0)->shape();
    const int64_t n = a.rank() < 2 ? 0 : a.dim(a.rank() - 1);
    const bool left = AttributeOf(call.backend_config(), "side", 'L') == 'L';
    return n == (left ? rows : columns) && a.element_count() == batches * n * n;
  }
  const int64_t taus = call.operand(1)->shape().element_count();
  return batches == 0 || (taus % batches == 0 && taus / batches <= std::min(rows, columns));
}

}  // namespace

bool IsLapackTarget(std::string_view target) { return Find(target) != nullptr; }

EvalResult EvalLapack(EvalContext& c) {
  const std::string_view target = c.attrs<CustomCallAttrs>().custom_call_target;
  const RoutineName* routine = Find(target);
  if (routine == nullptr || !HasForm(c.instruction, *routine))
    return Error(c.loc(), "custom call `{}` has not the operands and results of this routine",
                 target);
  if (IsComplex(c.operand(0).element_type())) return Run<std::complex<double>>(c, routine->routine);
  return Run<double>(c, routine->routine);
}

}  // namespace hlo
