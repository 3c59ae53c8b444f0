#include "tools/fuzz/programs/sketch.h"

#include <algorithm>
#include <cmath>

#include "lib/types/shape_util.h"
#include "tools/fuzz/programs/computed_types.h"

namespace hlo {
namespace {

// Sizes where kernels change: single elements, powers of two, one more and one less, primes.
constexpr int64_t kSizes[] = {1,  1,  2,  2,  3,  3,  4,  4,  5,  6,  7,  8,  8,   9,   10,  12,
                              15, 16, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 100, 128, 130, 257};
constexpr size_t kMostResults = 4;

}  // namespace

Palette RandomPalette(FuzzRandom& random) {
  static const std::vector<ElementType> kCommon = {
      ElementType::kF32, ElementType::kF32,  ElementType::kF32, ElementType::kS32,
      ElementType::kF64, ElementType::kBF16, ElementType::kF16, ElementType::kPred,
      ElementType::kS8,  ElementType::kU8,   ElementType::kS64, ElementType::kU32,
      ElementType::kC64};
  static const std::vector<ElementType> kRare = [] {
    std::vector<ElementType> types;
    for (const ElementType type : ArrayTypes()) {
      if (std::find(kCommon.begin(), kCommon.end(), type) == kCommon.end()) types.push_back(type);
    }
    return types;
  }();
  Palette palette;
  for (size_t i = 1 + random.Below(3); i > 0; --i)
    palette.types.push_back(random.Pick(random.OneIn(4) ? kRare : kCommon));
  static constexpr int64_t kMost[] = {40, 300, 300, 600, 2500, 20000};
  palette.max_elements = kMost[random.Below(random.OneIn(4) ? 6 : 5)];
  palette.max_depth = static_cast<int>(random.Below(3));
  return palette;
}

bool Sketch::IsSmall(Shape shape) const {
  int64_t elements = 0;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) elements = std::max(elements, leaf.element_count());
  });
  return elements <= palette_.max_elements;
}

Instruction* Sketch::Any() {
  if (values_.empty()) return Fresh(Shape::Array(Type(), Dims()));
  const size_t recent = std::min<size_t>(values_.size(), 3);
  if (random_.OneIn(2)) return values_[values_.size() - 1 - random_.Below(recent)];
  return random_.Pick(values_);
}

Instruction* Sketch::AnyWhere(const std::function<bool(const Instruction&)>& takes) {
  std::vector<Instruction*> fit;
  for (Instruction* value : values_) {
    if (takes(*value)) fit.push_back(value);
  }
  if (fit.empty()) return nullptr;
  return random_.OneIn(2) ? fit.back() : random_.Pick(fit);
}

Instruction* Sketch::Value(Shape shape) {
  Instruction* found =
      AnyWhere([&](const Instruction& value) { return Compatible(value.shape(), shape); });
  return found != nullptr && !random_.OneIn(3) ? found : Fresh(shape);
}

Instruction* Sketch::Like(Instruction* x) {
  if (!x->shape().has_dynamic_dims()) return Value(x->shape().WithDefaultLayout());
  Instruction* found =
      AnyWhere([&](const Instruction& value) { return Compatible(value.shape(), x->shape()); });
  return found != nullptr ? found : x;
}

Literal Sketch::RandomLiteral(Shape shape) {
  Literal literal(shape);
  const ElementType type = shape.element_type();
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const auto draw = static_cast<int64_t>(random_.Below(17)) - 8;
    if (IsInteger(type) || IsPred(type)) {
      literal.SetInt(i, IsPred(type) ? draw & 1 : IsUnsigned(type) ? draw & 7 : draw);
    } else if (IsComplex(type)) {
      literal.SetComplex(i, {static_cast<double>(draw) / 4, static_cast<double>(draw % 3)});
    } else {
      // f8e8m0fnu has powers of two only.
      literal.SetDouble(i, type == ElementType::kF8E8M0FNU
                               ? std::ldexp(1, static_cast<int>(draw) / 2)
                               : static_cast<double>(draw) / 4);
    }
  }
  return literal;
}

Instruction* Sketch::Scalar(ElementType type) {
  const Shape shape = Shape::Scalar(type);
  if (depth_ == 0 && random_.OneIn(3)) return Fresh(shape);
  Instruction* made = computation_->AddConstant(RandomLiteral(shape));
  return made;
}

Instruction* Sketch::Fresh(Shape shape) {
  shape = shape.WithoutDynamic();
  Instruction* made = nullptr;
  const size_t kind = random_.Below(8);
  const ElementType type = shape.element_type();
  const bool has_iota = shape.rank() > 0 && !IsPred(type);
  if (depth_ == 0 && kind < 5) {
    made = computation_->AddParameter(computation_->parameter_count(), shape);
  } else if (kind == 5 && has_iota) {
    Builder b(computation_);
    made = b.Iota(shape, static_cast<int64_t>(random_.Below(static_cast<size_t>(shape.rank()))));
    if (!b.status().ok()) made = nullptr;
  } else if (shape.element_count() > 64 || kind == 6) {
    Builder b(computation_);
    made = b.Broadcast(computation_->AddConstant(RandomLiteral(Shape::Scalar(type))), shape.dims(),
                       {});
  }
  if (made == nullptr) made = computation_->AddConstant(RandomLiteral(shape));
  values_.push_back(made);
  return made;
}

int64_t Sketch::Dim(int64_t most) {
  for (int tries = 0; tries < 8; ++tries) {
    const int64_t size = kSizes[random_.Below(std::size(kSizes))];
    if (size <= most) return size;
  }
  return most > 0 && random_.OneIn(40) ? 0 : std::min<int64_t>(most, 1);
}

DimVec Sketch::Dims() {
  static constexpr int kRanks[] = {0, 1, 1, 2, 2, 2, 3, 3, 4, 5};
  DimVec dims(static_cast<size_t>(kRanks[random_.Below(std::size(kRanks))]));
  int64_t room = palette_.max_elements;
  for (int64_t& dim : dims) {
    dim = Dim(room);
    room /= std::max<int64_t>(dim, 1);
  }
  if (!dims.empty() && random_.OneIn(60)) dims[random_.Below(dims.size())] = 0;
  for (size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[random_.Below(i)]);
  return dims;
}

DimVec Sketch::SomeDimensions(int rank) {
  DimVec dims;
  for (int64_t i = 0; i < rank; ++i) {
    if (random_.OneIn(2)) dims.push_back(i);
  }
  if (dims.empty() && rank > 0)
    dims.push_back(static_cast<int64_t>(random_.Below(static_cast<size_t>(rank))));
  return dims;
}

ElementType Sketch::Type() {
  return random_.OneIn(2) ? palette_.types.front() : random_.Pick(palette_.types);
}

ElementType Sketch::TypeWhere(bool (*takes)(ElementType), ElementType otherwise) {
  for (int tries = 0; tries < 4; ++tries) {
    if (const ElementType type = Type(); takes(type)) return type;
  }
  return otherwise;
}

Instruction* Sketch::Make(const std::function<Instruction*(Builder&)>& build) {
  Builder b(computation_);
  Instruction* made = build(b);
  if (!b.status().ok() || made == nullptr || !IsSmall(made->shape())) return nullptr;
  if (made->shape().IsArray()) values_.push_back(made);
  return made;
}

void Sketch::Close() {
  std::vector<Instruction*> results;
  for (auto it = values_.rbegin(); it != values_.rend() && results.size() < kMostResults; ++it) {
    if ((*it)->users().empty() && (*it)->opcode() != Opcode::kParameter) results.push_back(*it);
  }
  if (results.empty()) results.push_back(Any());
  if (results.size() == 1 && !random_.OneIn(4)) {
    computation_->set_root(results.front());
    return;
  }
  Builder b(computation_);
  computation_->set_root(b.Tuple(results));
}

void Sketch::CloseAs(Shape shape) {
  Instruction* found = AnyWhere([&](const Instruction& value) {
    return Compatible(value.shape(), shape) && value.opcode() != Opcode::kParameter;
  });
  if (found == nullptr) found = Value(shape);
  computation_->set_root(found);
}

}  // namespace hlo
