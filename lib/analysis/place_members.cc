#include "lib/analysis/place_members.h"

#include <algorithm>

namespace hlo {
namespace {

bool IsMadeBefore(ValueId a, ValueId b, const Interference& interference) {
  const int place_a = interference.PlaceInOrder(a), place_b = interference.PlaceInOrder(b);
  return place_a != place_b ? place_a < place_b : a < b;
}

}  // namespace

void PlaceMembers::Arrange(const Interference& interference) {
  if (state_ != State::kUnknown) return;
  const auto end = std::stable_partition(
      values_.begin(), values_.end(), [&](ValueId value) { return interference.IsLocal(value); });
  std::sort(values_.begin(), end,
            [&](ValueId a, ValueId b) { return IsMadeBefore(a, b, interference); });
  const auto meet = std::adjacent_find(
      values_.begin(), end, [&](ValueId a, ValueId b) { return !interference.IsOver(a, b); });
  state_ = meet == end ? State::kChain : State::kTangle;
  chain_ = meet == end ? static_cast<size_t>(end - values_.begin()) : 0;
}

size_t PlaceMembers::PlaceInChain(ValueId value, const Interference& interference) const {
  const auto end = values_.begin() + static_cast<int64_t>(chain_);
  const auto at = std::lower_bound(values_.begin(), end, value, [&](ValueId a, ValueId b) {
    return IsMadeBefore(a, b, interference);
  });
  return static_cast<size_t>(at - values_.begin());
}

bool PlaceMembers::FitsChain(ValueId value, const Interference& interference) const {
  const size_t next = PlaceInChain(value, interference);
  return (next == 0 || interference.IsOver(values_[next - 1], value)) &&
         (next == chain_ || interference.IsOver(value, values_[next]));
}

bool PlaceMembers::FitsOthers(ValueId value, size_t from, const Interference& interference) const {
  return std::none_of(values_.begin() + static_cast<int64_t>(from), values_.end(),
                      [&](ValueId other) { return interference.Interfere(value, other); });
}

bool PlaceMembers::AreDisjoint(PlaceMembers& other, const Interference& interference) {
  Arrange(interference);
  other.Arrange(interference);
  const bool is_smaller = values_.size() < other.values_.size();
  const PlaceMembers &few = is_smaller ? *this : other, &many = is_smaller ? other : *this;
  for (size_t i = 0; i < few.values_.size(); ++i) {
    const bool is_local = i < few.chain_;
    if (is_local && !many.FitsChain(few.values_[i], interference)) return false;
    if (!many.FitsOthers(few.values_[i], is_local ? many.chain_ : 0, interference)) return false;
  }
  return true;
}

std::pair<ValueId, ValueId> PlaceMembers::Conflict(const Interference& interference) {
  Arrange(interference);
  for (size_t i = 0; i < values_.size(); ++i) {
    for (size_t k = std::max(i + 1, chain_); k < values_.size(); ++k) {
      if (interference.Interfere(values_[i], values_[k])) return {values_[i], values_[k]};
    }
  }
  return {-1, -1};
}

void PlaceMembers::Add(PlaceMembers other, const Interference& interference, bool are_disjoint) {
  if (values_.size() < other.values_.size()) std::swap(*this, other);
  if (other.values_.empty()) return;
  if (are_disjoint) other.Arrange(interference);
  const bool are_chains = state_ == State::kChain && other.state_ == State::kChain;
  if (!are_chains || !are_disjoint) {
    const bool is_tangle = state_ == State::kTangle || other.state_ == State::kTangle;
    state_ = is_tangle ? State::kTangle : State::kUnknown;
    chain_ = other.chain_ = 0;
  }
  for (size_t i = 0; i < other.values_.size(); ++i) {
    if (i >= other.chain_) {
      values_.push_back(other.values_[i]);
      continue;
    }
    const size_t place = PlaceInChain(other.values_[i], interference);
    values_.insert(values_.begin() + static_cast<int64_t>(place), other.values_[i]);
    ++chain_;
  }
}

void PlaceMembers::Erase(ValueId value, const Interference& interference) {
  const size_t place = interference.IsLocal(value) ? PlaceInChain(value, interference) : chain_;
  if (place < chain_ && values_[place] == value) {
    values_.erase(values_.begin() + static_cast<int64_t>(place));
    --chain_;
  } else {
    values_.erase(std::find(values_.begin(), values_.end(), value));
  }
}

}  // namespace hlo
