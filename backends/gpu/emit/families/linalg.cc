// cholesky and triangular-solve: a block eliminates one column after the other, all its threads
// update what is right of it, with a barrier in between. Every element is updated in the order of
// columns, so results do not depend on the schedule. Narrow floats are computed in f32.
#include <algorithm>
#include <limits>

#include "backends/gpu/emit/core/contraction.h"
#include "backends/gpu/emit/core/frame.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kMostThreads = 256;

// Arithmetic on elements of one type.
class Numbers {
 public:
  Numbers(GpuFusionEmitter& emitter, ElementType type)
      : emitter_(emitter), type_(type), sum_(emitter, type, type, type) {}
  llvm::IRBuilder<>& b() const { return emitter_.kernel().b(); }
  Emitted Zero() const { return sum_.Zero(); }
  Emitted Divide(const Emitted& x, const Emitted& y) const {
    return emitter_.Element(Opcode::kDivide, type_, {type_, type_}, {x, y});
  }
  // x - y * z
  Emitted SubtractProduct(const Emitted& x, const Emitted& y, const Emitted& z) const {
    Emitted minus = {b().CreateFNeg(y.value), nullptr};
    if (y.imaginary != nullptr) minus.imaginary = b().CreateFNeg(y.imaginary);
    return sum_.Add(x, minus, z);
  }
  Emitted Conjugate(const Emitted& x) const {
    if (x.imaginary == nullptr) return x;
    return {x.value, b().CreateFNeg(x.imaginary)};
  }
  // A real number as one of the type.
  Emitted FromReal(llvm::Value* x) const {
    return {x, IsComplex(type_) ? llvm::ConstantFP::get(x->getType(), 0.0) : nullptr};
  }
  llvm::Value* Sqrt(llvm::Value* x) const {
    const ElementType real = ComponentType(type_);
    return emitter_.Element(Opcode::kSqrt, real, {real}, {Emitted{x, nullptr}}).value;
  }
  Emitted NotANumber() const {
    llvm::Type* const type = b().getFloatTy();
    llvm::Value* const nan = llvm::ConstantFP::getNaN(
        ComponentType(type_) == ElementType::kF64 ? b().getDoubleTy() : type);
    return {nan, IsComplex(type_) ? nan : nullptr};
  }

 private:
  GpuFusionEmitter& emitter_;
  ElementType type_;
  ProductSum sum_;
};

// for (e = the thread's number; e < count; e += threads)
absl::Status ForShare(KernelBuilder& k, llvm::Value* first, llvm::Value* count, int64_t step,
                      const std::function<absl::Status(llvm::Value*)>& body) {
  return k
      .Loop(first, count, k.Index(step), {},
            [&](llvm::Value* e, const EmittedList& none) -> absl::StatusOr<EmittedList> {
              RETURN_IF_ERROR(body(e));
              return none;
            })
      .status();
}

// The matrix w = (a's triangle) is eliminated in place. With w(i, k) for i >= k the lower factor,
// or the upper one's element (k, i):
//
//   w(i, k) -= w(i, j) * conj(w(k, j)) / w(j, j)   for j < k <= i, j ascending
//   l(i, j) = w(i, j) / sqrt(w(j, j))
//
// A pivot that is negative or NaN makes the whole matrix NaN.
class CholeskyEmission {
 public:
  CholeskyEmission(const Instruction& cholesky, int work, int result)
      : lower_(cholesky.attrs<CholeskyAttrs>().lower),
        n_(cholesky.shape().dim(cholesky.shape().rank() - 1)),
        type_(cholesky.shape().element_type()),
        work_(work),
        result_(result) {}

  int threads() const {
    return static_cast<int>(std::min<int64_t>(RoundUp(n_ * n_, kWarpSize), kMostThreads));
  }
  int64_t groups() const { return 1; }

  absl::Status Emit(GpuFusionEmitter& emitter, KernelBuilder& k) const {
    const ElementType wide = ProductSum::TypeFor(type_);
    const Numbers numbers(emitter, wide);
    llvm::Value* const base = k.Mul(k.BlockIndex(), k.Index(n_ * n_));
    const auto all =
        [&](const std::function<absl::Status(llvm::Value*, llvm::Value*, llvm::Value*)>& body) {
          return ForShare(k, k.ThreadIndex(), k.Index(n_ * n_), threads(), [&](llvm::Value* e) {
            llvm::Value* const row = k.Div(e, n_);
            llvm::Value* const column = k.Rem(e, n_);
            // In terms of the lower factor.
            return lower_ ? body(k.Add(base, e), row, column) : body(k.Add(base, e), column, row);
          });
        };
    RETURN_IF_ERROR(all([&](llvm::Value* at, llvm::Value* i, llvm::Value* j) -> absl::Status {
      Emitted value = emitter.Convert(k.Load(0, at), type_, wide);
      value = k.Select(k.Less(i, j), numbers.Zero(), value);
      if (value.imaginary != nullptr) {  // what the diagonal has of it is not read
        value.imaginary =
            k.b().CreateSelect(k.b().CreateICmpEQ(i, j), numbers.Zero().imaginary, value.imaginary);
      }
      k.Store(work_, at, value);
      return absl::OkStatus();
    }));
    const auto step = [&](llvm::Value* j, const EmittedList& bad) -> absl::StatusOr<EmittedList> {
      k.Barrier();
      return Eliminate(k, numbers, base, j, bad[0].value);
    };
    ASSIGN_OR_RETURN(const EmittedList bad, k.Loop(k.Index(0), k.Index(n_), k.Index(1),
                                                   {{k.b().getFalse(), nullptr}}, step));
    k.Barrier();
    RETURN_IF_ERROR(all([&](llvm::Value* at, llvm::Value* i, llvm::Value* j) {
      return k.If(k.Less(j, i), [&] {
        const Emitted root =
            numbers.FromReal(numbers.Sqrt(k.Load(work_, Place(k, base, j, j)).value));
        k.Store(work_, at, numbers.Divide(k.Load(work_, at), root));
        return absl::OkStatus();
      });
    }));
    k.Barrier();
    return all([&](llvm::Value* at, llvm::Value* i, llvm::Value* j) {
      const Emitted value = k.Load(work_, at);
      const Emitted root = numbers.FromReal(numbers.Sqrt(value.value));
      Emitted last = k.Select(k.b().CreateICmpEQ(i, j), numbers.Divide(value, root), value);
      last = k.Select(bad[0].value, numbers.NotANumber(), last);
      k.Store(result_, at, emitter.Convert(last, wide, type_));
      return absl::OkStatus();
    });
  }

 private:
  llvm::Value* Place(KernelBuilder& k, llvm::Value* base, llvm::Value* i, llvm::Value* j) const {
    return k.Add(base, lower_ ? k.Add(k.Scale(i, n_), j) : k.Add(k.Scale(j, n_), i));
  }

  // Column `j`; whether a pivot up to it was bad.
  absl::StatusOr<EmittedList> Eliminate(KernelBuilder& k, const Numbers& numbers, llvm::Value* base,
                                        llvm::Value* j, llvm::Value* bad) const {
    auto& b = k.b();
    const Emitted pivot = k.Load(work_, Place(k, base, j, j));
    llvm::Value* const zero = llvm::ConstantFP::get(pivot.value->getType(), 0.0);
    bad = b.CreateOr(bad, b.CreateNot(b.CreateFCmpOGE(pivot.value, zero)));
    const Emitted whole = numbers.FromReal(pivot.value);
    llvm::Value* const first = k.Offset(j, 1);
    llvm::Value* const width = k.Sub(k.Index(n_), first);
    const auto update = [&](llvm::Value* e) {
      llvm::Value* const i = k.Add(first, b.CreateUDiv(e, width));
      llvm::Value* const column = k.Add(first, b.CreateURem(e, width));
      return k.If(b.CreateNot(k.Less(i, column)), [&] {
        const Emitted left = numbers.Divide(k.Load(work_, Place(k, base, i, j)), whole);
        const Emitted right = numbers.Conjugate(k.Load(work_, Place(k, base, column, j)));
        llvm::Value* const at = Place(k, base, i, column);
        k.Store(work_, at, numbers.SubtractProduct(k.Load(work_, at), left, right));
        return absl::OkStatus();
      });
    };
    RETURN_IF_ERROR(ForShare(k, k.ThreadIndex(), k.Mul(width, width), threads(), update));
    return EmittedList{{bad, nullptr}};
  }

  bool lower_;
  int64_t n_;
  ElementType type_;
  int work_, result_;
};

// op(a) x = b for columns x of b; x op(a) = b is op(a)^T x^T = b^T, of which the rows of b are the
// columns. Neighbouring threads have neighbouring columns where those lie side by side.
class SolveEmission {
 public:
  SolveEmission(const Instruction& solve, int work, int result)
      : attrs_(solve.attrs<TriangularSolveAttrs>()),
        type_(solve.shape().element_type()),
        work_(work),
        result_(result) {
    const Shape shape = solve.shape();
    rows_ = shape.dim(shape.rank() - 2);
    columns_ = shape.dim(shape.rank() - 1);
    size_ = attrs_.left_side ? rows_ : columns_;
    lines_ = attrs_.left_side ? columns_ : rows_;
    const bool transposes = attrs_.transpose_a == TransposeKind::kTranspose ||
                            attrs_.transpose_a == TransposeKind::kAdjoint;
    transposed_ = transposes == attrs_.left_side;
    conjugated_ = attrs_.transpose_a == TransposeKind::kAdjoint;
    forward_ = attrs_.lower != transposed_;
    if (attrs_.left_side) {
      while (across_ < lines_ && across_ < kWarpSize) across_ *= 2;
    }
  }

  int threads() const {
    return static_cast<int>(std::min<int64_t>(RoundUp(size_ * across_, kWarpSize), kMostThreads));
  }
  int64_t groups() const { return CeilDiv(lines_, across_); }

  absl::Status Emit(GpuFusionEmitter& emitter, KernelBuilder& k) const {
    const ElementType wide = ProductSum::TypeFor(type_);
    const Numbers numbers(emitter, wide);
    llvm::Value* const batch = k.Div(k.BlockIndex(), groups());
    llvm::Value* const line =
        k.Add(k.Scale(k.Rem(k.BlockIndex(), groups()), across_), k.Rem(k.ThreadIndex(), across_));
    llvm::Value* const part = k.Div(k.ThreadIndex(), across_);
    const int parts = threads() / across_;
    llvm::Value* const inside = k.Less(line, k.Index(lines_));
    llvm::Value* const matrix = k.Scale(batch, size_ * size_);
    llvm::Value* const base = k.Scale(batch, rows_ * columns_);
    // The t-th unknown to be known.
    const auto unknown = [&](llvm::Value* t) {
      return forward_ ? t : k.Sub(k.Index(size_ - 1), t);
    };
    const auto place = [&](llvm::Value* i) {
      return k.Add(base, attrs_.left_side ? k.Add(k.Scale(i, columns_), line)
                                          : k.Add(k.Scale(line, columns_), i));
    };
    const auto coefficient = [&](llvm::Value* i, llvm::Value* j) {
      llvm::Value* const at =
          transposed_ ? k.Add(k.Scale(j, size_), i) : k.Add(k.Scale(i, size_), j);
      const Emitted value = emitter.Convert(k.Load(0, k.Add(matrix, at)), type_, wide);
      return conjugated_ ? numbers.Conjugate(value) : value;
    };
    const auto solved = [&](llvm::Value* i) {
      const Emitted value = k.Load(work_, place(i));
      return attrs_.unit_diagonal ? value : numbers.Divide(value, coefficient(i, i));
    };
    const auto each = [&](llvm::Value* first,
                          const std::function<absl::Status(llvm::Value*)>& body) {
      return k.If(inside, [&] {
        return ForShare(k, first, k.Index(size_), parts,
                        [&](llvm::Value* t) { return body(unknown(t)); });
      });
    };
    RETURN_IF_ERROR(each(part, [&](llvm::Value* i) {
      k.Store(work_, place(i), emitter.Convert(k.Load(1, place(i)), type_, wide));
      return absl::OkStatus();
    }));
    const auto step = [&](llvm::Value* t, const EmittedList& none) -> absl::StatusOr<EmittedList> {
      k.Barrier();
      llvm::Value* const i = unknown(t);
      RETURN_IF_ERROR(k.If(inside, [&] {
        const Emitted known = solved(i);
        const auto update = [&](llvm::Value* u) {
          llvm::Value* const j = unknown(u);
          k.Store(work_, place(j),
                  numbers.SubtractProduct(k.Load(work_, place(j)), coefficient(j, i), known));
          return absl::OkStatus();
        };
        return ForShare(k, k.Add(k.Offset(t, 1), part), k.Index(size_), parts, update);
      }));
      return none;
    };
    RETURN_IF_ERROR(k.Loop(k.Index(0), k.Index(size_), k.Index(1), {}, step).status());
    k.Barrier();
    return each(part, [&](llvm::Value* i) {
      k.Store(result_, place(i), emitter.Convert(solved(i), wide, type_));
      return absl::OkStatus();
    });
  }

 private:
  const TriangularSolveAttrs& attrs_;
  ElementType type_;
  int work_, result_;
  int64_t rows_, columns_;
  int64_t size_, lines_;  // unknowns of a column; columns
  bool transposed_, conjugated_, forward_;
  int across_ = 1;  // columns of a block
};

// Where narrow floats are computed: in memory of their own.
int WorkBuffer(ElementType type, int64_t count, GpuFrame& frame, KernelPlan& plan) {
  const ElementType wide = ProductSum::TypeFor(type);
  return wide == type ? frame.operand_buffers : frame.AddScratch(plan, wide, count);
}

Decision TakesSolve(const Instruction& instruction) {
  const Shape shape = instruction.shape();
  const ElementType type = shape.element_type();
  if (shape.has_dynamic_dims()) return No("the result has dynamic dimensions");
  return IsFloat(type) || IsComplex(type) ? Yes() : No("it is of {}", shape);
}

// A kernel with blocks of threads for each matrix of the result.
template <class Emission>
absl::Status EmitSolver(const FamilyRequest& request, const char* family) {
  const Instruction& instruction = request.root;
  GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = family;
  const Shape shape = instruction.shape();
  const int64_t count = shape.element_count();
  if (count == 0) return absl::OkStatus();
  const int64_t each = shape.dim(shape.rank() - 2) * shape.dim(shape.rank() - 1);
  const int result = frame.operand_buffers;
  const Emission emission(instruction, WorkBuffer(shape.element_type(), count, frame, plan),
                          result);
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
    return emission.Emit(emitter, k);
  };
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, emission.threads(), 0, plan, body));
  AddLaunch(frame, kernel, count / each * emission.groups(), emission.threads(), {}, plan);
  return absl::OkStatus();
}

}  // namespace

Decision TakesCholesky(const Instruction& cholesky) { return TakesSolve(cholesky); }

absl::Status EmitCholesky(const FamilyRequest& request) {
  return EmitSolver<CholeskyEmission>(request, "cholesky");
}

Decision TakesTriangularSolve(const Instruction& solve) { return TakesSolve(solve); }

absl::Status EmitTriangularSolve(const FamilyRequest& request) {
  return EmitSolver<SolveEmission>(request, "triangular-solve");
}

}  // namespace hlo::gpu
