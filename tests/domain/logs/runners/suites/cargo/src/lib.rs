//! A pot.

/// ```
/// assert_eq!(pot::cups(), 2);
/// ```
pub fn cups() -> u32 {
    2
}

#[cfg(test)]
mod tests {
    #[test]
    fn pours() {
        println!("hidden");
    }

    #[test]
    fn leaks() {
        assert_eq!(super::cups(), 3);
    }

    #[test]
    #[ignore]
    fn rests() {}

    #[test]
    #[should_panic]
    fn breaks() {
        panic!("as it should");
    }

    mod lid {
        #[test]
        fn très_fits() {}
    }
}
