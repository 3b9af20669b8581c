//! A metric family: a name, its labels, and what it measures.

use std::marker::PhantomData;

use metrics::{Counter, Gauge, Histogram, Label};

/// A number that only grows.
pub struct Counts;
/// A number that goes up and down.
pub struct Levels;
/// How often a value falls into which range.
pub struct Spreads;

/// A family with `N` labels. The arity is part of its type: a value is never recorded under labels that the family does not have.
pub struct Family<K, const N: usize> {
    name: &'static str,
    labels: [&'static str; N],
    buckets: &'static [f64],
    about: &'static str,
    kind: PhantomData<K>,
}

impl<K, const N: usize> Family<K, N> {
    /// A family; `buckets` are the upper bounds of a [`Spreads`] and empty for others.
    pub(super) const fn new(name: &'static str, labels: [&'static str; N], buckets: &'static [f64], about: &'static str) -> Self {
        Self { name, labels, buckets, about, kind: PhantomData }
    }

    fn labelled(&self, values: [&str; N]) -> Vec<Label> {
        self.labels.iter().zip(values).map(|(name, value)| Label::new(*name, value.to_owned())).collect()
    }
}

impl<const N: usize> Family<Counts, N> {
    /// The counter of these label values, there from now on. Keep it where it is used often.
    pub fn of(&self, values: [&str; N]) -> Counter {
        metrics::counter!(self.name, self.labelled(values))
    }
}

impl<const N: usize> Family<Levels, N> {
    /// The gauge of these label values, there from now on.
    pub fn of(&self, values: [&str; N]) -> Gauge {
        metrics::gauge!(self.name, self.labelled(values))
    }
}

impl<const N: usize> Family<Spreads, N> {
    /// The histogram of these label values, there from now on.
    pub fn of(&self, values: [&str; N]) -> Histogram {
        metrics::histogram!(self.name, self.labelled(values))
    }
}

/// A family seen without its type: for listing, describing and bucketing.
pub trait Listed: Sync {
    /// Its name on the page.
    fn name(&self) -> &'static str;
    /// Prometheus' word for its kind.
    fn kind(&self) -> &'static str;
    /// Names of its labels.
    fn labels(&self) -> &[&'static str];
    /// Upper bounds of its buckets.
    fn buckets(&self) -> &'static [f64];
    /// What it measures.
    fn about(&self) -> &'static str;
    /// Tells the recorder what it measures.
    fn describe(&self);
}

macro_rules! listed {
    ($marker:ty, $kind:literal, $describe:ident) => {
        impl<const N: usize> Listed for Family<$marker, N> {
            fn name(&self) -> &'static str {
                self.name
            }

            fn kind(&self) -> &'static str {
                $kind
            }

            fn labels(&self) -> &[&'static str] {
                &self.labels
            }

            fn buckets(&self) -> &'static [f64] {
                self.buckets
            }

            fn about(&self) -> &'static str {
                self.about
            }

            fn describe(&self) {
                metrics::$describe!(self.name, self.about);
            }
        }
    };
}

listed!(Counts, "counter", describe_counter);
listed!(Levels, "gauge", describe_gauge);
listed!(Spreads, "histogram", describe_histogram);
