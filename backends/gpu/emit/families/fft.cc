// fft: Stockham's mixed-radix transform, a launch for each factor of each length; no bit reversal.
//
//   A[s, k] for s < n / l, k < l is the transform of length l of x[s], x[s + n / l], …; so A of
//   l = 1 is x, A of l = n the result, and a factor p takes it from l to l * p:
//   A'[s, k] = sum over r < p of  w^(k r n / (l p)) * A[s + r n / (l p), k mod l],   w = e^(-+2 pi i / n)
//
// in place [s, k] -> s * l + k. A thread computes one element: p products. The roots are computed
// in f64, and rounded: those of short transforms with the kernel, which holds them as a constant;
// the others by a kernel of their own, once per length and run. A prime length n costs n products
// per element.
#include <algorithm>
#include <cstring>

#include "absl/algorithm/container.h"
#include "backends/gpu/emit/core/frame.h"
#include "backends/llvm/value.h"
#include "lib/math/roots_of_unity.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

// Fours first: they need as many loads as two and two, and half the launches.
std::vector<int64_t> FactorsOf(int64_t n) {
  std::vector<int64_t> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

// A longer table makes more text for the assembler than a kernel that computes it costs.
constexpr int64_t kMostConstantRoots = 4096;

// The table of e^(2 pi i k / n), as its bytes stand in memory.
template <class Real>
std::vector<uint8_t> RootsOfUnity(int64_t n) {
  std::vector<Real> parts;
  parts.reserve(static_cast<size_t>(2 * n));
  for (int64_t k = 0; k < n; ++k) {
    const auto root = math::RootOfUnity(k, n);
    parts.push_back(static_cast<Real>(root.re));
    parts.push_back(static_cast<Real>(root.im));
  }
  std::vector<uint8_t> bytes(parts.size() * sizeof(Real));
  std::memcpy(bytes.data(), parts.data(), bytes.size());
  return bytes;
}

class FftEmission {
 public:
  FftEmission(const Instruction& fft, GpuFrame& frame, KernelPlan& plan)
      : attrs_(fft.attrs<FftAttrs>()),
        plan_(plan),
        operand_(fft.operand(0)->shape()),
        result_(fft.shape()),
        dims_(operand_.dims().begin(), operand_.dims().end()),
        result_buffer_(frame.operand_buffers) {
    complex_ =
        IsComplex(operand_.element_type()) ? operand_.element_type() : result_.element_type();
    real_ = ComponentType(complex_);
    inverse_ = attrs_.fft_type == FftType::kIfft || attrs_.fft_type == FftType::kIrfft;
    MakePasses();
    if (passes_.size() > 1) {
      const int64_t most = std::max(operand_.element_count(), result_.element_count());
      for (int& buffer : halves_) buffer = frame.AddScratch(plan, complex_, most);
    }
    int64_t longest = 0;
    for (const Pass& pass : passes_) longest = std::max(longest, pass.n);
    if (longest > kMostConstantRoots) roots_ = frame.AddScratch(plan, complex_, longest);
  }

  absl::Status Emit() {
    int source = 0;
    int64_t rooted = 0;  // the length whose roots the table holds
    for (size_t i = 0; i < passes_.size(); ++i) {
      const Pass& pass = passes_[i];
      const int target = i + 1 == passes_.size() ? result_buffer_ : halves_[i % 2];
      if (pass.kind == PassKind::kFactor && pass.n != rooted) {
        if (HasConstantRoots(pass)) {
          constant_roots_ = real_ == ElementType::kF64 ? RootsOfUnity<double>(pass.n)
                                                       : RootsOfUnity<float>(pass.n);
        } else {
          RETURN_IF_ERROR(AddRoots(pass.n));
        }
        rooted = pass.n;
      }
      RETURN_IF_ERROR(AddPass(pass, source, target, i + 1 == passes_.size()));
      source = target;
    }
    return absl::OkStatus();
  }

 private:
  enum class PassKind { kCopy, kFactor, kWiden, kCut, kExtend, kRealPart };
  struct Pass {
    PassKind kind;
    int64_t elements;    // of the target
    int64_t n = 0;       // kFactor: the length of lines
    int64_t stride = 1;  // of elements of a line
    int64_t factor = 0, before = 0;
    int64_t row = 0, source_row = 0;  // kCut, kExtend: length of the target's and the source's rows
  };

  void MakePasses() {
    const size_t rank = dims_.size(), first = rank - attrs_.fft_length.size();
    switch (attrs_.fft_type) {
      case FftType::kRfft: {
        passes_.push_back({PassKind::kWiden, Count()});
        AddAxis(rank - 1);
        const int64_t whole = dims_.back();
        dims_.back() = whole / 2 + 1;
        Pass cut = {PassKind::kCut, Count()};
        cut.row = dims_.back();
        cut.source_row = whole;
        passes_.push_back(cut);
        for (size_t d = rank - 1; d-- > first;) AddAxis(d);
        break;
      }
      case FftType::kIrfft: {
        for (size_t d = first; d + 1 < rank; ++d) AddAxis(d);
        Pass extend = {PassKind::kExtend, 0};
        extend.source_row = dims_.back();
        extend.row = dims_.back() = attrs_.fft_length.back();
        extend.elements = Count();
        passes_.push_back(extend);
        AddAxis(rank - 1);
        passes_.push_back({PassKind::kRealPart, Count()});
        break;
      }
      case FftType::kFft:
      case FftType::kIfft:
        for (size_t d = first; d < rank; ++d) AddAxis(d);
        if (passes_.empty()) passes_.push_back({PassKind::kCopy, Count()});
        break;
    }
  }

  int64_t Count() const {
    int64_t count = 1;
    for (const int64_t size : dims_) count *= size;
    return count;
  }

  void AddAxis(size_t d) {
    Pass pass = {PassKind::kFactor, Count(), dims_[d]};
    for (size_t i = d + 1; i < dims_.size(); ++i) pass.stride *= dims_[i];
    pass.before = 1;
    for (const int64_t factor : FactorsOf(pass.n)) {
      pass.factor = factor;
      passes_.push_back(pass);
      pass.before *= factor;
    }
    scale_ /= inverse_ ? static_cast<double>(pass.n) : 1;
  }

  // A kernel of `threads` threads on the given buffers of the plan; `body` writes what one does.
  absl::Status AddThreads(
      int64_t threads, int64_t largest, std::vector<BufferParam> params, std::vector<int> buffers,
      std::vector<int64_t> integers,
      const std::function<absl::Status(GpuFusionEmitter&, KernelBuilder&, llvm::Value*)>& body) {
    GpuFrame frame;
    frame.buffers = std::move(params);
    frame.largest = std::max(threads, largest);
    constexpr int kBlockThreads = 128;
    const auto all = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
      llvm::Value* const thread =
          k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
      return k.If(k.Less(thread, k.Index(threads)), [&] { return body(emitter, k, thread); });
    };
    const int count = static_cast<int>(integers.size());
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kBlockThreads, count, plan_, all));
    AddLaunch(frame, kernel, CeilDiv(threads, kBlockThreads), kBlockThreads, std::move(integers),
              plan_);
    plan_.steps.back().buffers = std::move(buffers);
    return absl::OkStatus();
  }

  static bool HasConstantRoots(const Pass& pass) { return pass.n <= kMostConstantRoots; }

  // A kernel that makes the table of e^(2 pi i k / n).
  absl::Status AddRoots(int64_t n) {
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k, llvm::Value* thread) {
      auto& b = k.b();
      llvm::Value* const turn =
          b.CreateFDiv(b.CreateSIToFP(thread, b.getDoubleTy()),
                       llvm::ConstantFP::get(b.getDoubleTy(), static_cast<double>(n)));
      const auto root = math::RootOfUnity(math::LlvmValue<double>{&b, turn});
      const auto part = [&](math::LlvmValue<double> x) {
        return emitter.Convert({x.v, nullptr}, ElementType::kF64, real_).value;
      };
      k.Store(0, thread, {part(root.re), part(root.im)});
      return absl::OkStatus();
    };
    return AddThreads(n, 0, {{complex_, n, /*written=*/true}}, {roots_}, {}, body);
  }

  absl::Status AddPass(const Pass& pass, int source, int target, bool is_last) {
    const ElementType from = source == 0 ? operand_.element_type() : complex_;
    const ElementType to = is_last ? result_.element_type() : complex_;
    const int64_t most = std::max(operand_.element_count(), result_.element_count());
    std::vector<BufferParam> params = {{from, most}, {to, most, /*written=*/true}};
    if (pass.kind != PassKind::kFactor) {
      return AddThreads(pass.elements, 0, std::move(params), {source, target}, {},
                        [&](GpuFusionEmitter&, KernelBuilder& k, llvm::Value* thread) {
                          k.Store(1, thread, Moved(pass, k, thread));
                          return absl::OkStatus();
                        });
    }
    std::vector<int> buffers = {source, target};
    if (!HasConstantRoots(pass)) {
      params.push_back({complex_, pass.n});
      buffers.push_back(roots_);
    }
    // Numbers of roots are reduced from as much as n * factor.
    return AddThreads(
        pass.elements, pass.n * pass.factor, std::move(params), std::move(buffers),
        {pass.before, pass.n / (pass.before * pass.factor)},
        [&](GpuFusionEmitter&, KernelBuilder& k, llvm::Value* thread) -> absl::Status {
          ASSIGN_OR_RETURN(Emitted value, Factor(pass, k, thread));
          if (is_last) value = Scaled(k, value);
          k.Store(1, thread, value);
          return absl::OkStatus();
        });
  }

  Emitted Scaled(KernelBuilder& k, const Emitted& value) const {
    if (scale_ == 1) return value;
    auto& b = k.b();
    llvm::Value* const factor = llvm::ConstantFP::get(value.value->getType(), scale_);
    return {b.CreateFMul(value.value, factor),
            value.imaginary == nullptr ? nullptr : b.CreateFMul(value.imaginary, factor)};
  }

  // The target's element in the passes that compute nothing.
  Emitted Moved(const Pass& pass, KernelBuilder& k, llvm::Value* thread) const {
    auto& b = k.b();
    llvm::Type* const type = real_ == ElementType::kF64 ? b.getDoubleTy() : b.getFloatTy();
    llvm::Value* const zero = llvm::ConstantFP::get(type, 0.0);
    if (pass.kind == PassKind::kWiden) return {k.Load(0, thread).value, zero};
    if (pass.kind == PassKind::kRealPart) return Scaled(k, {k.Load(0, thread).value, nullptr});
    if (pass.kind == PassKind::kCopy) return k.Load(0, thread);
    llvm::Value* const i = k.Rem(thread, pass.row);
    llvm::Value* const row = k.Scale(k.Div(thread, pass.row), pass.source_row);
    if (pass.kind == PassKind::kCut) return k.Load(0, k.Add(row, i));
    // Behind the middle the spectrum of real numbers is the mirrored conjugate; at 0 and in the
    // middle it is real.
    llvm::Value* const mirrored = k.Less(k.Index(pass.row), k.Scale(i, 2));
    llvm::Value* const from = b.CreateSelect(mirrored, k.Sub(k.Index(pass.row), i), i);
    Emitted value = k.Load(0, k.Add(row, from));
    llvm::Value* const is_real =
        b.CreateOr(b.CreateICmpEQ(i, k.Index(0)), b.CreateICmpEQ(k.Scale(i, 2), k.Index(pass.row)));
    value.imaginary = b.CreateSelect(mirrored, b.CreateFNeg(value.imaginary), value.imaginary);
    value.imaginary = b.CreateSelect(is_real, zero, value.imaginary);
    return value;
  }

  // One element after a factor.
  absl::StatusOr<Emitted> Factor(const Pass& pass, KernelBuilder& k, llvm::Value* thread) const {
    auto& b = k.b();
    llvm::Value* const before = k.Integer(0);
    llvm::Value* const apart = k.Integer(1);  // n / (before * factor)
    llvm::Value* const after = k.Scale(before, pass.factor);
    llvm::Value* const inner = k.Rem(thread, pass.stride);
    llvm::Value* const rest = k.Div(thread, pass.stride);
    llvm::Value* const at = k.Rem(rest, pass.n);
    llvm::Value* const line = k.Add(k.Scale(k.Div(rest, pass.n), pass.n * pass.stride), inner);
    llvm::Value* const s = b.CreateUDiv(at, after);
    llvm::Value* const frequency = b.CreateURem(at, after);
    llvm::Value* const low = b.CreateURem(frequency, before);
    const auto element = [&](llvm::Value* r) {
      llvm::Value* const place = k.Add(k.Mul(k.Add(s, k.Mul(apart, r)), before), low);
      return k.Load(0, k.Add(line, k.Scale(place, pass.stride)));
    };
    const auto add = [&](const Emitted& sum, llvm::Value* r) {
      const Emitted x = element(r);
      llvm::Value* const turn = k.Mul(b.CreateURem(k.Mul(frequency, r), after), apart);
      Emitted w = HasConstantRoots(pass) ? k.LoadConstant(complex_, constant_roots_, turn)
                                         : k.Load(2, turn);
      if (!inverse_) w.imaginary = b.CreateFNeg(w.imaginary);
      const auto fma = [&](llvm::Value* p, llvm::Value* q, llvm::Value* t) -> llvm::Value* {
        return b.CreateIntrinsic(llvm::Intrinsic::fma, {t->getType()}, {p, q, t});
      };
      return Emitted{fma(b.CreateFNeg(x.imaginary), w.imaginary, fma(x.value, w.value, sum.value)),
                     fma(x.imaginary, w.value, fma(x.value, w.imaginary, sum.imaginary))};
    };
    Emitted sum = element(k.Index(0));
    constexpr int64_t kMostUnrolled = 8;
    if (pass.factor <= kMostUnrolled) {
      for (int64_t r = 1; r < pass.factor; ++r) sum = add(sum, k.Index(r));
      return sum;
    }
    ASSIGN_OR_RETURN(
        const EmittedList sums,
        k.Loop(k.Index(1), k.Index(pass.factor), k.Index(1), {sum},
               [&](llvm::Value* r, const EmittedList& partial) -> absl::StatusOr<EmittedList> {
                 return EmittedList{add(partial[0], r)};
               }));
    return sums[0];
  }

  const FftAttrs& attrs_;
  KernelPlan& plan_;
  Shape operand_, result_;
  absl::InlinedVector<int64_t, 6> dims_;
  int result_buffer_;
  ElementType complex_, real_;
  bool inverse_ = false;
  double scale_ = 1;
  std::vector<Pass> passes_;
  int halves_[2] = {-1, -1};
  int roots_ = -1;                       // of lengths above kMostConstantRoots
  std::vector<uint8_t> constant_roots_;  // of the pass that is being written
};

}  // namespace

Decision TakesFft(const Instruction& fft) {
  const FftAttrs& attrs = fft.attrs<FftAttrs>();
  const Shape operand = fft.operand(0)->shape();
  if (operand.has_dynamic_dims()) return No("its operand has dynamic dimensions");
  const size_t rank = static_cast<size_t>(operand.rank()), axes = attrs.fft_length.size();
  if (axes > rank) return No("it transforms {} dimensions of {}", axes, operand);
  for (size_t i = 0; i < axes; ++i) {
    const bool is_half = i + 1 == axes && attrs.fft_type == FftType::kIrfft;
    const int64_t length = attrs.fft_length[i];
    const int64_t size = operand.dim(static_cast<int>(rank - axes + i));
    if (length == 0) continue;  // gives zeros
    if (size != (is_half ? length / 2 + 1 : length))
      return No("`fft_length` is {} for a dimension of size {}", length, size);
  }
  return Yes();
}

absl::Status EmitFft(const FamilyRequest& request) {
  const Instruction& fft = request.root;
  GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "fft";
  if (fft.shape().element_count() == 0) return absl::OkStatus();
  if (absl::c_linear_search(fft.attrs<FftAttrs>().fft_length, 0))
    return AddZeros(frame, frame.operand_buffers, fft.shape().element_count(), plan);
  return FftEmission(fft, frame, plan).Emit();
}

}  // namespace hlo::gpu
